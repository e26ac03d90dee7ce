"""The judge shares no code with what it judges: no chain of imports leads from it to a module of the brokers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import networkx as nx
import pytest

from tests.architecture.imports import Import
from tests.architecture.order import protocol_packages
from tests.architecture.test_order import SOURCES, own_imports

JUDGES = ("analysis.judging", "analysis.reading")
"""The rooms from which verdicts come: the oracles, and the reading of logs that feeds them."""
SHARED = frozenset({"broker_service", "broker_service.messages"})
"""Brokers' modules that a judge may reach: the names of message kinds, which are part of the log schema, and the
package that they are in, which is empty. docs/judge.md names them."""


def reached(sources: Iterable[str], arrows: Iterable[Import], judges: Iterable[str]) -> dict[str, list[str]]:
    """Each of the brokers' modules that importing a judge loads, with a chain of imports that leads to it.

    Importing `a.b.c` loads the packages `a` and `a.b` as well, so whatever these import counts.
    """
    graph = nx.DiGraph((arrow.importer, arrow.imported) for arrow in arrows)
    graph.add_nodes_from(sources)
    for module in list(graph):
        graph.add_edges_from((module, package) for package in _packages(module))
    starts = [module for module in graph if any(f"{module}.".startswith(f"{judge}.") for judge in judges)]
    chains = nx.multi_source_dijkstra_path(graph, starts) if starts else {}
    return {module: chain for module, chain in chains.items() if f"{module}.".startswith("broker_service.")}


def _packages(module: str) -> Iterator[str]:
    parts = module.split(".")
    return (".".join(parts[:length]) for length in range(1, len(parts)))


LOOKED_UP = [
    Import("broker_service.routing.registry", f"broker_service.routing.{package}.protocol")
    for package in protocol_packages()
]
"""Protocols that the registry imports by their names, which no statement shows."""


def test_no_judge_reaches_the_code_that_it_judges() -> None:
    found = reached(SOURCES, [*own_imports(), *LOOKED_UP], JUDGES)
    assert {module: " -> ".join(chain) for module, chain in found.items() if module not in SHARED} == {}


@pytest.mark.parametrize("module", sorted(SHARED))
def test_what_a_judge_may_reach_leads_nowhere(module: str) -> None:
    assert [arrow for arrow in own_imports() if arrow.importer == module] == []


@pytest.mark.parametrize(
    ("arrow", "through"),
    [
        (("analysis.judging.oracle", "broker_service.matching"), "broker_service.matching"),
        (("analysis.reading.lifetimes", "broker_service.language.records"), "broker_service.language.model"),
        (("analysis.tables.deliveries", "broker_service.detection.detector"), "broker_service.detection"),
        (("record.log", "broker_service.routing.registry"), "broker_service.routing.tid"),
    ],
)
def test_an_import_of_a_broker_would_be_found(arrow: tuple[str, str], through: str) -> None:
    """Directly, over a package's `__init__`, and over a module of another package."""
    chain = reached(SOURCES, [*own_imports(), *LOOKED_UP, Import(*arrow)], JUDGES)[through]
    assert chain[0].startswith(JUDGES)
    assert chain[-1] == through
