"""Losses of messages that a scenario asks for, and the promises of the routing that they go with."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from broker_service.config import Disturbance
from record.faults import LOST_STREAMS, FaultKind
from record.promises import Loss, Promises
from scenario.faults.conditions import Disturbed
from scenario.faults.programs import Hold
from scenario.faults.targets import Targets
from scenario.model import Scenario
from scenario.yaml_files.errors import ScenarioError
from topology.link_properties import LinkDirection

Promise = Callable[[Promises], None]
Load = Callable[[str, str], Scenario]
DISTURB = "{at: 0s, disturb: B1->B2, lose: 1%, repeat: 0.5%, hold: 2% by 50ms, for: 1s}"


@pytest.fixture
def load_survivor(load_with: Callable[[str], Scenario]) -> Load:
    """Loads a scenario whose links resume or not, with these faults."""
    return lambda resume, faults: load_with(f"brokers: {{limits: {{resume: {resume}}}}}\nfaults: [{faults}]")


def test_a_protocol_that_survives_it_may_be_disturbed(load_survivor: Load, promise: Promise) -> None:
    promise(Promises(survives={FaultKind.DISTURB: Loss.NOTHING}))
    loaded = load_survivor("true", DISTURB)
    disturbance = Disturbance(lose=0.01, repeat=0.005, hold=0.02, held_for=0.05)
    program = loaded.faults[0].program(Targets(loaded.overlay(), 0))
    assert program == Hold((Disturbed(LinkDirection("B1", "B2"), disturbance),), 1.0)
    assert Scenario.model_validate(loaded.resolved()).faults == loaded.faults


def test_links_need_not_resume_for_a_protocol_that_survives_it(load_survivor: Load, promise: Promise) -> None:
    promise(Promises(survives={LOST_STREAMS: Loss.NOTHING}))
    assert not load_survivor("false", "").brokers.limits.limits().resume


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (
            ("false", ""),
            "7: brokers.limits.resume: tid does not promise to survive what broken streams lose then",
        ),
        (("true", DISTURB), "8: faults[0].disturb: tid does not promise to survive messages that are lost, repeated"),
        (("7", ""), "7: brokers.limits.resume: "),
    ],
)
def test_other_protocols_are_refused_with_the_reason(
    load_survivor: Load, tmp_path: Path, asked: tuple[str, str], message: str
) -> None:
    with pytest.raises(ScenarioError) as refused:
        load_survivor(*asked)
    assert str(refused.value).startswith(f"{tmp_path}/scenario.yaml:{message}")
