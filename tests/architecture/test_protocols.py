"""A protocol is declared in its own package, and no other module of the product selects behaviour by its name."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from broker_service.routing import PROTOCOLS, protocol_named
from broker_service.routing.registry import built_in
from tests.architecture.imports import modules
from tests.architecture.order import packages, protocol_packages

NAMES_OF_PAPERS = "tid octopia medym gryphon semi-probabilistic semi_probabilistic"
"""A paper and its files, pages and overlays are called as its protocol; nothing depends on which protocol runs."""
OTHER_MEANINGS: Mapping[str, str] = {
    "analysis.claims.shipped": NAMES_OF_PAPERS,
    "analysis.tables.wording": "cbf medym octopia tid",
    "analysis.trace.chrome": "tid",
    "scenario.sections.topology.papers": NAMES_OF_PAPERS,
    "studies.fitting.bursts": "octopia",
    "studies.fitting.cell": "tid",
    "studies.fitting.loads": "tid",
    "studies.reproduction.pages": NAMES_OF_PAPERS,
    "studies.calibration.control": "tid",
    "studies.calibration.loopback": "tid",
    "studies.calibration.measure": "tid",
}
"""Words that modules may hold: names of papers, their spelling, a field of trace files, and the protocol that the
calibration measures."""


def words_of(source: str) -> Iterator[str]:
    """The strings of a module, each whole."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def names_of(package: str) -> set[str]:
    """Words that stand for a protocol: its package, its name, and its conformance rows."""
    name = package.replace("_", "-")
    return {package, name, *(row.name for row in protocol_named(name).rows(name))}


def names_in(module: str, source: str) -> set[str]:
    """Names of protocols that a module holds outside of the protocol's package."""
    words = set(words_of(source)) - set(OTHER_MEANINGS.get(module, "").split())
    others = [package for package in protocol_packages() if f"routing.{package}." not in module]
    return words & set().union(*map(names_of, others))


@pytest.mark.parametrize("package", packages())
def test_no_module_names_a_protocol_of_another_package(package: str) -> None:
    found = {name: names_in(name, path.read_text(encoding="utf-8")) for name, path in modules([package]).items()}
    assert {name: words for name, words in found.items() if words} == {}


def test_a_name_outside_of_the_protocols_package_is_found() -> None:
    chosen = 'if routing.protocol == "gryphon":\n    hold()\n'
    assert names_in("emulation.planning.plan", chosen) == {"gryphon"}
    assert names_in("broker_service.routing.gryphon.router", chosen) == set()
    assert names_in("studies.conformance.running", 'ROWS = ("medym-close",)') == {"medym-close"}


def test_a_package_that_declares_a_protocol_is_one_without_further_steps(tmp_path: Path) -> None:
    for name in ("late_binding", "helpers"):
        (tmp_path / name).mkdir()
    (tmp_path / "late_binding" / "protocol.py").write_text("")
    assert built_in(tmp_path, "routing") == {"late-binding": "routing.late_binding.protocol"}


def test_protocols_are_called_as_their_packages() -> None:
    assert list(PROTOCOLS) == [package.replace("_", "-") for package in protocol_packages()]
