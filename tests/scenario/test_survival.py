"""Losses of messages that a scenario asks for, and the promises of the routing that they go with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from broker_service.disturbance import Disturbance
from broker_service.routing import PROTOCOLS
from broker_service.routing.registry import Protocol
from broker_service.routing.tid import TidOptions
from record.faults import LOST_STREAMS, FaultKind
from record.promises import Loss, Promises
from scenario.faults.conditions import Disturbed
from scenario.faults.programs import Hold
from scenario.faults.targets import Targets
from scenario.loading import load
from scenario.model import Scenario
from scenario.yaml_files.errors import ScenarioError
from topology.link_properties import LinkDirection

SCENARIO = """
name: s
topology: {kind: line, brokers: 2}
routing: {protocol: tid}
workload: {operations: [{at: 0s, broker: B1, client: S, id: s1, subscribe: "[class,eq,'STOCK']"}]}
timeline: {join: 1s, run: 1s}
brokers: {limits: {resume: RESUME}}
faults: [FAULTS]
"""
DISTURB = "{at: 0s, disturb: B1->B2, lose: 1%, repeat: 0.5%, hold: 2% by 50ms, for: 1s}"


@pytest.fixture
def survives(monkeypatch: pytest.MonkeyPatch) -> dict[str, Loss]:
    """The promises of the scenario's protocol, to which tests add."""
    found: dict[str, Loss] = {}

    class TryingOptions(TidOptions, frozen=True, kw_only=True, forbid_unknown_fields=True):
        @property
        def promises(self) -> Promises:
            return Promises(survives=cast(Mapping[str, Loss], found))

    trying = replace(PROTOCOLS["tid"], options=TryingOptions)
    monkeypatch.setitem(cast(dict[str, Protocol], PROTOCOLS), "tid", trying)
    return found


def scenario(tmp_path: Path, resume: str = "true", faults: str = "") -> Scenario:
    file = tmp_path / "s.yaml"
    file.write_text(SCENARIO.replace("RESUME", resume).replace("FAULTS", faults))
    return load(file)


def test_a_protocol_that_survives_it_may_be_disturbed(tmp_path: Path, survives: dict[str, Loss]) -> None:
    survives[FaultKind.DISTURB] = Loss.NOTHING
    loaded = scenario(tmp_path, faults=DISTURB)
    disturbance = Disturbance(lose=0.01, repeat=0.005, hold=0.02, held_for=0.05)
    program = loaded.faults[0].program(Targets(loaded.overlay(), 0))
    assert program == Hold((Disturbed(LinkDirection("B1", "B2"), disturbance),), 1.0)
    assert Scenario.model_validate(loaded.resolved()).faults == loaded.faults


def test_links_need_not_resume_for_a_protocol_that_survives_it(tmp_path: Path, survives: dict[str, Loss]) -> None:
    survives[LOST_STREAMS] = Loss.NOTHING
    assert not scenario(tmp_path, resume="false").brokers.limits.limits().resume


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (
            {"resume": "false"},
            "7: brokers.limits.resume: tid does not promise to survive what broken streams lose then",
        ),
        ({"faults": DISTURB}, "8: faults[0].disturb: tid does not promise to survive messages that are lost, repeated"),
        ({"resume": "7"}, "7: brokers.limits.resume: "),
    ],
)
def test_other_protocols_are_refused_with_the_reason(tmp_path: Path, asked: dict[str, str], message: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        scenario(tmp_path, **asked)
    assert str(refused.value).startswith(f"{tmp_path}/s.yaml:{message}")
