"""The delivery ratio that a scenario expects, and the promises of the routing that it goes with."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest
from msgspec import UNSET

from broker_service.routing import PROTOCOLS
from broker_service.routing.registry import Protocol
from broker_service.routing.tid import TidOptions
from emulation.planning.variant_record import new_variant
from record.promises import Completeness, Promises
from scenario.loading import load
from scenario.model import Scenario
from scenario.yaml_files.errors import ScenarioError

SCENARIO = """
name: s
topology: {kind: line, brokers: 2}
routing: {protocol: tid}
workload: {operations: [{at: 0s, broker: B1, client: S, id: s1, subscribe: "[class,eq,'STOCK']"}]}
timeline: {join: 1s, run: 1s}
"""


class TryingOptions(TidOptions, frozen=True, kw_only=True, forbid_unknown_fields=True):
    @property
    def promises(self) -> Promises:
        return Promises(delivery=Completeness.BEST_EFFORT)


@pytest.fixture
def best_effort(monkeypatch: pytest.MonkeyPatch) -> None:
    trying = replace(PROTOCOLS["tid"], options=TryingOptions)
    monkeypatch.setitem(cast(dict[str, Protocol], PROTOCOLS), "tid", trying)


def scenario(tmp_path: Path, expect: str) -> Scenario:
    file = tmp_path / "scenario.yaml"
    file.write_text(f"{SCENARIO}{expect}\n")
    return load(file)


@pytest.mark.usefixtures("best_effort")
@pytest.mark.parametrize(("written", "share"), [("85%", 0.85), ("0.85", 0.85), ("100%", 1.0)])
def test_an_expectation_reaches_the_manifest(tmp_path: Path, written: str, share: float) -> None:
    record = new_variant("base", {}, scenario(tmp_path, f"expect: {{delivery: {written}}}"))
    assert (record.expected_delivery, record.promises.delivery) == (share, Completeness.BEST_EFFORT)


@pytest.mark.usefixtures("best_effort")
def test_without_an_expectation_the_manifest_has_none(tmp_path: Path) -> None:
    assert new_variant("base", {}, scenario(tmp_path, "")).expected_delivery is UNSET


def test_a_protocol_that_promises_every_delivery_is_not_held_to_a_ratio(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError) as refused:
        scenario(tmp_path, "expect: {delivery: 85%}")
    assert str(refused.value) == (
        f"{tmp_path}/scenario.yaml:7: expect.delivery: tid promises every delivery, and a ratio is expected of best "
        "effort only; remove it"
    )


@pytest.mark.usefixtures("best_effort")
@pytest.mark.parametrize(
    ("expect", "message"),
    [
        ("expect: {delivery: 120%}", r"scenario.yaml:7: expect.delivery: a share is at most 1, got '120%'"),
        ("expect: {delivery: most}", r"scenario.yaml:7: expect.delivery: expected a share such as 2%, got 'most'"),
        ("expect: {}", r"scenario.yaml:7: expect.delivery: "),
        ("expect: {deliver: 1}", r"scenario.yaml:7: .*unknown field 'deliver'; did you mean 'delivery'\?"),
    ],
)
def test_a_mistake_names_the_line_and_the_field(tmp_path: Path, expect: str, message: str) -> None:
    with pytest.raises(ScenarioError, match=message):
        scenario(tmp_path, expect)
