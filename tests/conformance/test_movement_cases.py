"""The cases about join points that move do move them, and end former ones, where their rates and times are meant to."""

from __future__ import annotations

from pathlib import Path

import pytest

from record.log import Event
from studies.conformance import CaseVerdict, SimulatedCaseRunner, read_all, run_case
from studies.conformance.model import Case
from studies.conformance.protocols import PROTOCOLS
from tests.broker_service.overlay import ListTrace

CASES = {
    case.id.removeprefix("composite-"): case
    for case in read_all([Path(__file__).parent / f"composite-{name}.json" for name in ("movement", "sub-units")])
    if isinstance(case, Case)
}


@pytest.mark.parametrize(
    ("case", "protocol", "places"),
    [
        ("the-join-point-follows-the-faster-publisher", "tid-dcsr", ["B4", "B1"]),
        ("the-join-point-follows-the-faster-publisher", "tid-topology", ["B4"]),
        ("the-join-point-moves-back-when-rates-change", "tid-dcsr", ["B4", "B1", "B3", "B4"]),
        ("the-join-point-moves-while-a-link-is-down", "tid-dcsr", ["B4", "B1"]),
        ("withdrawn-after-a-move", "tid-dcsr", ["B4", "B1"]),
        ("withdrawn-in-the-middle-of-a-move", "tid-dcsr", ["B4", "B1"]),
        ("advertised-after-it-was-placed", "tid-topology", ["B6", "B1"]),
        ("two-of-three-parts-come-from-one-side", "tid-dcsr", ["B4", "B3"]),
        ("two-of-three-parts-come-from-one-side", "tid-topology", ["B4"]),
        ("the-join-point-of-two-parts-follows-the-faster-publisher", "tid-dcsr", ["B4", "B3", "B1"]),
        ("the-broker-that-detects-two-parts-dies-and-comes-back", "tid-dcsr", ["B4", "B3", "B3"]),
    ],
)
def test_the_first_join_points_of_a_case(case: str, protocol: str, places: list[str]) -> None:
    """Join points of one moment are in this order: a unit's own, then those of its sub-units, by their names."""
    traces: dict[str, ListTrace] = {}
    runner = SimulatedCaseRunner(lambda broker: traces.setdefault(broker, ListTrace(broker)))
    assert run_case(CASES[case], PROTOCOLS[protocol], runner).verdict is CaseVerdict.PASSED
    joined = [record for trace in traces.values() for record in trace.of(Event.JOINED)]
    first = sorted(joined, key=lambda record: (record.time, record.placement and record.placement.unit))[: len(places)]
    assert [record.node for record in first] == places


def test_the_former_join_point_ends() -> None:
    traces: dict[str, ListTrace] = {}
    runner = SimulatedCaseRunner(lambda broker: traces.setdefault(broker, ListTrace(broker)))
    run_case(CASES["the-join-point-follows-the-faster-publisher"], PROTOCOLS["tid-dcsr"], runner)
    assert [record.text for record in traces["B4"].of(Event.LEFT)] == ["another broker has taken over"]
