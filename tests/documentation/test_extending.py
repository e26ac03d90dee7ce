"""The routing protocol in docs/extending.md is a whole one: taken from the page, it passes the conformance cases."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import re
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from broker_service.routing.declaration import Protocol
from broker_service.routing.registry import PROTOCOLS
from scenario.loading import load_text
from studies.conformance import CaseVerdict, SimulatedCaseRunner, read_all, run_case
from studies.conformance.display import explanation
from studies.conformance.protocols import ConformanceProtocol
from studies.conformance.selection import Trial, select
from tests.documentation.markdown import ROOT

MODULE = "broker_service.routing.flooding"
BLOCKS = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "extending.md").read_text(encoding="utf-8"), re.DOTALL)
CASES = ("cycles.json", "failures.json", "lines.json", "mobility.json")
SCENARIO = """
name: floods
topology: {kind: ring, brokers: 4}
routing: {protocol: flooding, recognition_byte: 5}
workload: {operations: [{at: 0s, client: P, broker: B1, id: a, advertise: "[class,eq,'STOCK']"}]}
timeline: {join: 1s, run: 1s}
"""


@contextmanager
def registered(directory: Path) -> Iterator[ConformanceProtocol]:
    """Registers the page's module under its name and its declaration; yields its conformance row.

    Only these two entries are taken back in the end. What is first imported meanwhile has to stay in `sys.modules`,
    because msgspec and Pydantic look up the names in a class's annotations there, perhaps in a later test.
    """
    source, declaration = BLOCKS[0], textwrap.dedent(BLOCKS[1])
    path = directory / "flooding.py"
    path.write_text(source)
    spec = importlib.util.spec_from_file_location(MODULE, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, MODULE, module)
        spec.loader.exec_module(module)
        exec(declaration, names := {"Protocol": Protocol, **vars(module)})
        patch.setitem(PROTOCOLS, "flooding", names["PROTOCOL"])
        yield ConformanceProtocol("flooding", "flooding")


@pytest.fixture
def flooding(tmp_path: Path) -> Iterator[ConformanceProtocol]:
    with registered(tmp_path) as row:
        yield row


def test_modules_that_are_imported_meanwhile_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "imported_meanwhile.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    with registered(tmp_path):
        module = importlib.import_module("imported_meanwhile")
    assert sys.modules.pop("imported_meanwhile") is module
    assert MODULE not in sys.modules
    assert "flooding" not in PROTOCOLS


def test_it_is_about_flooding_and_little_else() -> None:
    lines = [line for line in ast.unparse(_without_docstrings(ast.parse(BLOCKS[0]))).splitlines() if line.strip()]
    assert len(lines) < 40


def _without_docstrings(tree: ast.Module) -> ast.Module:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef):
            node.body = [part for part in node.body if not _is_text(part)]
    return tree


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def test_it_passes_the_conformance_cases(flooding: ConformanceProtocol) -> None:
    cases = read_all([ROOT / "tests" / "conformance" / name for name in CASES])
    trials = [
        Trial(trial.case, flooding) for trial in select(cases, (), ["tid-fixed"]).trials if not trial.case.protocols
    ]
    assert len(trials) > 30
    for trial in trials:
        result = run_case(trial.case, flooding, SimulatedCaseRunner())
        assert result.verdict is CaseVerdict.PASSED, "\n".join([result.note, *explanation(result)])


@pytest.mark.usefixtures("flooding")
def test_scenarios_know_it_and_its_options() -> None:
    with pytest.raises(Exception, match="no option 'recognition_byte'; did you mean 'recognition_bytes'"):
        load_text(SCENARIO, "floods.yaml")
    options: Any = load_text(SCENARIO.replace("recognition_byte:", "recognition_bytes:"), "floods.yaml").routing.options
    assert options == {"recognition_bytes": 5}
