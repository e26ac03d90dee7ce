"""From processor time in phases to the cost of frames and messages."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from record.errors import HostError
from record.time_units import SECOND
from scenario.workload.operations import OperationKind
from studies.calibration.loopback import LoopbackOverlay
from studies.calibration.work import (
    HIGH_RATE,
    LOW_RATE,
    LoadPhase,
    Usage,
    phases,
    publishing,
    solve,
    subscribing,
)
from tests.waiting import await_true

FRAME, PUBLISH, SUBSCRIBE, OTHER = 170_000, 20_000, 90_000, 40_000
REST_PER_SECOND = 2_000_000


def usages(plan: list[LoadPhase]) -> list[Usage]:
    """Processor time of brokers with known costs; at the high rate 16 messages share a frame."""
    made = []
    for phase in plan:
        cost = {OperationKind.PUBLISH: PUBLISH, OperationKind.SUBSCRIBE: SUBSCRIBE}.get(phase.kind, OTHER)  # type: ignore[call-overload]
        frames = phase.count // 16 if phase.name == "high" else phase.count
        work = frames * FRAME + phase.count * cost + round(REST_PER_SECOND * phase.observed)
        made.append(Usage(work, phase.count, frames))
    return made


def test_known_costs_are_found_again() -> None:
    plan = phases()
    work = solve(plan, usages(plan))
    assert work.frame == pytest.approx(FRAME, abs=2)
    assert work.kinds == {
        "publish": pytest.approx(PUBLISH, abs=2), "advertise": pytest.approx(OTHER, abs=2),
        "subscribe": pytest.approx(SUBSCRIBE, abs=2), "unsubscribe": pytest.approx(OTHER, abs=2),
        "unadvertise": pytest.approx(OTHER, abs=2),
    }  # fmt: skip


def test_no_kind_costs_less_than_a_publication() -> None:
    plan = phases()
    found = [
        Usage(usage.work // 2, usage.messages, usage.frames) if phase.kind is OperationKind.SUBSCRIBE else usage
        for phase, usage in zip(plan, usages(plan), strict=True)
    ]
    assert solve(plan, found).kinds["subscribe"] == pytest.approx(PUBLISH, abs=2)


def test_a_host_that_does_not_keep_up_is_told() -> None:
    plan = phases()
    found = usages(plan)
    found[2] = Usage(found[2].work, 10, 10)
    with pytest.raises(HostError, match=r"10 of 20000 messages \(publish\) came through in time; end what else runs"):
        solve(plan, found)


def test_frames_that_are_never_shared_tell_nothing() -> None:
    plan = phases()
    found = usages(plan)
    found[2] = Usage(found[2].work, found[2].messages, found[2].messages)
    with pytest.raises(HostError, match="frames were as full"):
        solve(plan, found)


def test_the_workload_is_what_the_phases_say() -> None:
    plan = phases()
    for earlier, later in itertools.pairwise(plan):
        assert earlier.end < later.begin
    low, high = (next(phase for phase in plan if phase.name == name) for name in ("low", "high"))
    assert (low.count / low.seconds, high.count / high.seconds) == (LOW_RATE, HIGH_RATE)
    operations = [*publishing(plan), *subscribing(plan)]
    for phase in plan:
        within = [o for o in operations if phase.begin <= o.at / SECOND < phase.end]
        assert len(within) == phase.count
        assert {o.operation for o in within} <= {phase.kind}


def test_a_line_on_loopback_starts_carries_and_leaves_nothing(tmp_path: Path) -> None:
    tmp_path.joinpath("line").mkdir()
    with LoopbackOverlay([("B1", "B2")], tmp_path / "line") as line:
        processes = list(line._processes.values())
        before = line.work_time("B1")
        rest = [LoadPhase("rest", None, 0.0, 0.1)]
        drivers = line.drive({"publishers": publishing(rest)})
        line.begin(drivers)
        await_true(lambda: drivers.status.confirmed == 1, "the confirmation")
        drivers.end(5.0)
        assert line.work_time("B1") > before
        assert line.log("B2").read_bytes().count(b'"advertise"') >= 1
    assert len(processes) == 2
    assert not any(process.alive for process in processes)
    assert all(b'"stopped"' in line.log(broker).read_bytes() for broker in ("B1", "B2")), "each ended in order"
    assert not list((tmp_path / "line").rglob("*.sock"))
