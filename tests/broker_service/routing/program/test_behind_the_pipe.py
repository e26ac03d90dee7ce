"""Every built-in protocol behind the pipe writes the very log that it writes in the broker's own process."""

from __future__ import annotations

import json
import random
import shlex
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pytest

from broker_service.routing import PROTOCOLS as BUILT_IN
from emulation.planning.plan import make_plan
from emulation.simulation.run import simulate
from record.files import LOGS
from scenario.loading import load
from studies.conformance import PROTOCOLS, Case, CaseVerdict, read
from studies.conformance.running import obstacle
from tests.broker_service.routing.program.behind_the_pipe import host, hosted, logged
from tests.documentation.markdown import ROOT

CASES = ROOT / "tests" / "conformance"
TRIED = 20
"""Cases of each row of the conformance table."""
SCENARIOS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "cbf": ("line-3.yaml", {"routing": "{protocol: cbf}"}),
    "channelization": ("medym/medym-8.yaml", {"routing": "{protocol: channelization, channels: 4}"}),
    "gryphon": ("gryphon-failure.yaml", {}),
    "medym": ("medym/medym-8.yaml", {}),
    "octopia": (
        "octopia/oct-delivery.yaml",
        {
            "workload.publications.publishers": "20",
            "workload.subscriptions.subscribers": "100",
            "timeline.run": "10s",
        },
    ),
    "semi-probabilistic": ("semi-30.yaml", {"timeline.run": "2s", "time_dilation": "1"}),
    "tid": ("line-3.yaml", {}),
}
"""A small scenario for each protocol, with changes that make it so, or fit for the protocol."""


@pytest.mark.parametrize(
    ("row", "file", "id"),
    [
        ("tid-dynamic", "failures", "a-broker-off-the-route-dies"),
        ("tid-dcsr", "composite-lines", None),
        ("octopia-idr", "octopia-faults", None),
        ("cbf-aggregating", "failures", "a-broker-off-the-route-dies"),
        ("gryphon", "failures", "a-broker-off-the-route-dies"),
        ("gryphon", "sessions", None),
        ("channelization", "lines", "line-of-two"),
        ("semi-probabilistic", "failures", "a-broker-off-the-route-dies"),
        ("medym-mst", "failures", "a-broker-off-the-route-dies"),
    ],
)
def test_logs_are_equal(row: str, file: str, id: str | None) -> None:
    cases = [case for case in read(CASES / f"{file}.json") if isinstance(case, Case)]
    case = next(
        case for case in cases if (id is None or case.id == id) and (not case.protocols or row in case.protocols)
    )
    protocol = PROTOCOLS[row].with_options(case.options)
    bare = case.model_copy(update={"options": {}})
    expected = logged(bare, protocol)
    assert expected[0] is CaseVerdict.PASSED
    assert any(expected[2].values())
    assert logged(bare, hosted(protocol)) == expected


@cache
def every_case() -> tuple[Case, ...]:
    files = sorted(CASES.glob("*.json"))
    return tuple(case for file in files for case in read(file) if isinstance(case, Case))


@pytest.mark.proof
@pytest.mark.parametrize("row", sorted(PROTOCOLS))
def test_logs_of_many_cases_are_equal(row: str) -> None:
    fitting = [
        case
        for case in every_case()
        if (case.protocols is None or row in case.protocols)
        and not obstacle(case, PROTOCOLS[row].with_options(case.options))
    ]
    assert len(fitting) >= TRIED
    different = []
    for case in random.Random(row).sample(fitting, TRIED):
        protocol = PROTOCOLS[row].with_options(case.options)
        bare = case.model_copy(update={"options": {}})
        expected = logged(bare, protocol)
        assert expected[0] is CaseVerdict.PASSED
        different += [case.id] if logged(bare, hosted(protocol)) != expected else []
    assert different == []


def logs_of_run(file: Path, changes: Mapping[str, str], out: Path) -> dict[str, bytes]:
    """The logs of a simulated run, by the names of their files."""
    directory = simulate(make_plan(load(file, changes)), out).directory
    return {path.name: path.read_bytes() for path in (directory / LOGS).iterdir()}


def test_there_is_a_scenario_for_each_protocol() -> None:
    assert SCENARIOS.keys() == set(BUILT_IN)


@pytest.mark.parametrize(
    "protocol", ["tid", *(pytest.param(name, marks=pytest.mark.proof) for name in sorted(SCENARIOS) if name != "tid")]
)
def test_logs_of_a_run_are_equal(protocol: str, tmp_path: Path) -> None:
    """The program has the name of the protocol, which neighbours tell each other."""
    name, changes = SCENARIOS[protocol]
    file, changes = ROOT / "scenarios" / name, {**changes, "vary": "{}"}
    routing = load(file, changes).routing
    program = tmp_path / protocol
    program.write_text(f"#!/bin/sh\nexec {shlex.join(host(protocol, routing.options))}\n")
    program.chmod(0o755)
    behind = json.dumps({"protocol": {"program": [str(program)]}})
    expected = logs_of_run(file, changes, tmp_path / "own")
    found = logs_of_run(file, {**changes, "routing": behind}, tmp_path / "piped")
    assert routing.protocol == protocol
    assert found.keys() == expected.keys()
    assert [log for log in expected if found[log] != expected[log]] == []
