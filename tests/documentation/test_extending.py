"""The routing protocol in docs/extending.md is a whole one: taken from the page, it passes the conformance cases."""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast
from unittest import mock

import pytest

from broker_service.routing.registry import PROTOCOLS, Protocol
from emulation.scenario import load_text
from studies.conformance import SimulatedTestbed, Verdict, read_all, run_case
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
routing: {protocol: flooding, rememberd: 5}
workload: {operations: [{at: 0s, client: P, broker: B1, id: a, advertise: "[class,eq,'STOCK']"}]}
timeline: {join: 1s, run: 1s}
"""


@pytest.fixture
def flooding(tmp_path: Path) -> Iterator[ConformanceProtocol]:
    """The page's module under its name, its row in the registry, and its conformance row."""
    source, row = BLOCKS[0], BLOCKS[1]
    path = tmp_path / "flooding.py"
    path.write_text(source)
    spec = importlib.util.spec_from_file_location(MODULE, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    registered: Mapping[str, Protocol]
    with mock.patch.dict(sys.modules, {MODULE: module}):
        spec.loader.exec_module(module)
        registered = eval(f"{{{row}}}", vars(module) | {"Protocol": Protocol})
        with mock.patch.dict(cast(dict[str, Protocol], PROTOCOLS), registered):
            yield ConformanceProtocol("flooding", "flooding")


def test_it_passes_the_conformance_cases(flooding: ConformanceProtocol) -> None:
    cases = read_all([ROOT / "tests" / "conformance" / name for name in CASES])
    trials = [
        Trial(trial.case, flooding) for trial in select(cases, (), ["tid-fixed"]).trials if not trial.case.protocols
    ]
    assert len(trials) > 30
    for trial in trials:
        result = run_case(trial.case, flooding, SimulatedTestbed())
        assert result.verdict is Verdict.PASSED, "\n".join([result.note, *explanation(result)])


@pytest.mark.usefixtures("flooding")
def test_scenarios_know_it_and_its_options() -> None:
    with pytest.raises(Exception, match="no option 'rememberd'; did you mean 'remembered'"):
        load_text(SCENARIO, "floods.yaml")
    options: Any = load_text(SCENARIO.replace("rememberd", "remembered"), "floods.yaml").routing.options
    assert options == {"remembered": 5}
