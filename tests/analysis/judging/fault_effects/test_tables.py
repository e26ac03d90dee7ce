"""The table `faults`, from small histories whose numbers can be checked by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.engines import PlainEngine
from analysis.judging.fault_effects.counts import FaultCounts, FaultTally, HeldUp
from analysis.judging.histories.faults import AROUND, FaultSpan, FaultTimes, fault_spans
from analysis.pipeline import analyze
from analysis.reading.intervals import FOREVER
from analysis.reading.log_events import LogPosition, OutageEvent
from analysis.tables.results import read_table
from analysis.tables.timeline import Fault
from command_line.commands.verdicts import fault_lines
from record.log import Event
from record.promises import Order, Promises
from tests.analysis.history import DRAIN_END, SECOND, History, across, joined, write_run

BROKERS = frozenset({"B1", "B2", "B3"})


def record(at: float, target: str, kind: str, begins: bool) -> OutageEvent:
    return OutageEvent(LogPosition(round(at * SECOND), "emulator", 0, 0), 0, "", target, kind, begins)


def spans(
    *records: OutageEvent, recovery: float = 4
) -> list[tuple[str, tuple[str, ...], float, float | None, float | None]]:
    """Kind, targets, begin, heal and end of the watch, in seconds; None stands for never."""

    def seconds(time: int) -> float | None:
        return None if time == FOREVER else time / SECOND

    found = fault_spans(records, round(recovery * SECOND), BROKERS)
    return [(span.kind, span.what, span.begin / SECOND, seconds(span.healed), seconds(span.until)) for span in found]


def test_outages_that_begin_together_are_one_fault_until_the_last_is_healed() -> None:
    assert spans(
        record(10, "B1-B2", "link_down", True),
        record(10.2, "B3", "kill", True),
        record(10.3, "B2-B3", "link_down", True),
        record(20, "B1-B2", "link_up", False),
        record(20.5, "B2->B3", "link_up", False),
        record(21, "B3->B2", "link_up", False),
        record(60, "B3", "restart", False),
    ) == [
        ("link_down", ("B1-B2", "B2-B3"), 10, 21, 31),
        ("kill", ("B3",), 10.2, 60, 70),
    ]


def test_a_link_that_flaps_fast_is_cut_more_than_once_and_watched_until_the_next_time() -> None:
    assert spans(
        record(10, "B1-B2", "link_down", True),
        record(10.1, "B1-B2", "link_up", False),
        record(10.2, "B1-B2", "link_down", True),
        record(10.3, "B1-B2", "link_up", False),
    ) == [
        ("link_down", ("B1-B2",), 10, 10.1, 10.2),
        ("link_down", ("B1-B2",), 10.2, 10.3, 20.3),
    ]


def test_what_is_never_healed_is_watched_for_ever() -> None:
    assert spans(
        record(10, "B1", "pause", True), record(30, "B2", "kill", True), record(40, "B2", "restart", False)
    ) == [
        ("pause", ("B1",), 10, None, None),
        ("kill", ("B2",), 30, 40, 50),
    ]


def test_recovery_may_take_longer_than_what_is_looked_at_after_a_fault() -> None:
    assert spans(record(10, "B1", "kill", True), record(11, "B1", "restart", False), recovery=30)[0][-1] == 41


moments = st.integers(0, 40)


@given(st.lists(st.tuples(moments, moments), max_size=8), moments, moments)
def test_faults_are_found_by_time(pairs: list[tuple[int, int]], a: int, b: int) -> None:
    watched = sorted((min(pair), max(pair)) for pair in pairs)
    times = FaultTimes([FaultSpan("kill", ("B1",), begin, begin, until) for begin, until in watched])
    start, end = min(a, b), max(a, b)
    naive = [number for number, (begin, until) in enumerate(watched) if begin <= end and start <= until]
    assert sorted(times.watched(start, end)) == naive


def test_soon_is_before_a_fault_and_not_with_it() -> None:
    times = FaultTimes([FaultSpan("kill", ("B1",), begin, begin, begin) for begin in (AROUND, AROUND, 2 * AROUND)])
    assert [list(times.soon(time)) for time in (-1, 0, AROUND - 1, AROUND, 2 * AROUND)] == [[], [0, 1], [0, 1], [2], []]


def delivered(history: History, number: int, at: float, after: float) -> None:
    history.publish(f"P:{number}", at).notify(f"P:{number}", at=at + after)


def killed() -> History:
    """B2 is down from 120 to 130. Before, all takes 10 ms; the first of a second each way is lost or late."""
    history = across("killed").fault(120).heal(130)
    for number in range(10):
        delivered(history, number, 110.5 + number, 0.010)
    history.publish("P:19", 119.9)
    history.add("B1", Event.SENT, 119.95, id="P:19", kind="publish", peer="B2", duration=0)
    history.publish("P:20", 121)
    history.add("B1", Event.DROPPED, 121, id="P:20", kind="publish", peer="B2", text="neighbour restarted")
    delivered(history, 21, 122, 0.020)  # not late: the limit lies between 20 and 24 ms
    delivered(history, 22, 129, 2.0)
    history.publish("P:23", 132.5)
    delivered(history, 24, 133, 0.010)
    delivered(history, 25, 139.9, 0.010)
    delivered(history, 26, 145, 0.5)
    for observer, down, up in (("B1", 120.1, 130.4), ("B3", 120.3, 130.2)):
        history.add(observer, Event.LINK_DOWN, down, peer="B2")
        history.add(observer, Event.LINK_UP, up, peer="B2")
    history.add("B1", Event.LINK_DOWN, 121, peer="B3")  # of another link
    return history


def of(history: History, directory: Path) -> Fault:
    """The only fault of a run, which its summary tells as well."""
    run = write_run(directory / "run", [history])
    summary = analyze(run, PlainEngine())
    (fault,) = read_table(run / "results", Fault)
    assert summary.variants[0].faults == [fault]
    return fault


def test_a_kill_in_numbers(tmp_path: Path) -> None:
    fault = of(killed(), tmp_path)
    assert (fault.kind, fault.what, fault.second, fault.duration_s) == ("kill", ["B2"], 20, 10.0)
    assert (fault.began_ns, fault.healed_ns) == (120 * SECOND, 130 * SECOND)
    assert (fault.noticed, fault.detected_first_s, fault.detected_last_s) == (2, pytest.approx(0.1), pytest.approx(0.3))
    assert fault.reconnected_s == pytest.approx(0.4)
    assert fault.recovered_s == pytest.approx(2.5), "P:23 was published then, and never came"
    assert (fault.publications, fault.due, fault.late, fault.excused, fault.lost) == (7, 7, 1, 3, 0)
    assert (fault.dropped, fault.drop_reasons, fault.drop_counts) == (1, ["neighbour restarted"], [1])
    assert fault.delay_before_ms == pytest.approx(10)
    assert fault.delay_during_ms == pytest.approx((20 + 2000) / 2)
    assert fault.delay_after_ms == pytest.approx(10)


@pytest.mark.parametrize(("after", "duration"), [(0.0, DRAIN_END - 120), (0.001, None)])
def test_a_heal_at_the_end_of_the_drain_phase_counts_and_a_later_one_is_clearing_up(
    after: float, duration: float | None, tmp_path: Path
) -> None:
    fault = of(joined("drained").fault(120, "pause").heal(DRAIN_END + after, "resume"), tmp_path)
    assert fault.duration_s == duration


class Patient(History):
    """An overlay that may take long to recover."""

    def manifest(self) -> dict[str, Any]:
        return {**super().manifest(), "recovery": 30.0}


def test_delay_after_is_that_of_ten_seconds_however_long_recovery_may_take(tmp_path: Path) -> None:
    history = Patient("patient").advertise().subscribe().fault(120, "pause").heal(121, "resume")
    delivered(history, 1, 125, 0.010)
    delivered(history, 2, 131.5, 0.5)
    fault = of(history, tmp_path)
    assert (fault.publications, fault.delay_after_ms) == (2, pytest.approx(10))


def test_what_comes_late_after_the_heal_is_waited_for(tmp_path: Path) -> None:
    history = joined("paused", promises=Promises(order=Order.ADVERTISEMENT)).fault(120, "pause").heal(128, "resume")
    delivered(history, 1, 119, 0.010)
    delivered(history, 2, 119.995, 0.010)  # in flight when it struck
    delivered(history, 3, 125, 4.0)
    history.publish("P:4", 126)
    fault = of(history, tmp_path)
    assert fault.recovered_s == pytest.approx(1.0)
    assert (fault.publications, fault.late, fault.excused, fault.lost) == (3, 1, 0, 1)
    assert (fault.noticed, fault.detected_first_s, fault.detected_last_s, fault.reconnected_s) == (0, None, None, None)


def test_what_is_late_when_all_was_well_again_is_none_of_the_faults(tmp_path: Path) -> None:
    history = joined("hiccup").fault(120, "pause").heal(128, "resume")
    delivered(history, 1, 119, 0.010)
    delivered(history, 2, 127, 2.0)  # until 129
    delivered(history, 3, 128.9, 1.1)  # behind it, until 130
    delivered(history, 4, 130.2, 0.5)
    fault = of(history, tmp_path)
    assert (fault.late, fault.recovered_s) == (3, pytest.approx(2.0))


def test_what_was_published_before_the_neighbours_were_back_is_the_faults(tmp_path: Path) -> None:
    history = joined("slow to return").fault(120, "link_down", "B1-B2").heal(128, "link_up", "B1-B2")
    delivered(history, 1, 119, 0.010)
    delivered(history, 2, 129, 2.5)
    history.add("B1", Event.LINK_DOWN, 123, peer="B2").add("B1", Event.LINK_UP, 131, peer="B2")
    fault = of(history, tmp_path)
    assert (fault.reconnected_s, fault.recovered_s) == (3.0, pytest.approx(3.5))


@given(st.lists(st.tuples(moments, moments), max_size=8), st.lists(st.tuples(moments, moments), max_size=8))
def test_recovery_is_the_same_in_any_parts(first: list[tuple[int, int]], second: list[tuple[int, int]]) -> None:
    late = [HeldUp(min(pair), max(pair)) for pair in (*first, *second)]
    parts = FaultTally()
    for of_part in (late[: len(first)], late[len(first) :]):
        part = FaultTally()
        part.counts.of(0, 1).held_up = of_part
        parts.merge(part.table())
    assert parts.counts.of(0, 1).recovered(10, 12) == FaultCounts(0, 1, held_up=late).recovered(10, 12)


def test_without_a_before_nothing_is_late_and_without_a_heal_nothing_recovers(tmp_path: Path) -> None:
    history = joined("cut for ever").fault(120, "link_down", "B1->B2").publish("P:1", 125)
    history.add("B2", Event.LINK_DOWN, 123, peer="B1").add("B1", Event.LINK_DOWN, 124, peer="B2")
    fault = of(history, tmp_path)
    assert (fault.healed_ns, fault.duration_s, fault.recovered_s, fault.late) == (None, None, None, None)
    assert (fault.noticed, fault.detected_first_s, fault.detected_last_s) == (2, 3.0, 4.0)
    assert (fault.reconnected_s, fault.lost, fault.delay_before_ms) == (None, 1, None)


def test_one_that_never_has_its_neighbour_again_is_not_passed_over(tmp_path: Path) -> None:
    history = joined("half back").fault(120).heal(130)
    history.add("B1", Event.LINK_DOWN, 121, peer="B2").add("B3", Event.LINK_DOWN, 121, peer="B2")
    history.add("B1", Event.LINK_UP, 131, peer="B2")
    assert of(history, tmp_path).reconnected_s is None


def test_faults_while_all_is_taken_down_are_none(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", [joined("stopped").publish().notify().fault(170)])
    assert analyze(run, PlainEngine()).variants[0].faults == []


def test_what_overlapping_faults_of_a_kind_share_adds_up(tmp_path: Path) -> None:
    """Both kills are watched when P:2 comes late, P:3 is dropped, and P:4 never comes."""
    history = joined("overlapping").publish("P:1", 115).notify("P:1", at=115.05)
    history.fault(120).fault(122, peer="B1").publish("P:2", 123).notify("P:2", at=124)
    history.publish("P:3", 123.5).receive("P:3", 123.6)
    history.add("B1", Event.DROPPED, 123.7, id="P:3", kind="publish", text="full")
    history.publish("P:4", 123.8).heal(126).heal(126, peer="B1")
    faults = analyze(write_run(tmp_path / "run", [history]), PlainEngine()).variants[0].faults
    assert [(fault.late, fault.late_shared) for fault in faults] == [(1, 1), (1, 0)]
    assert [(fault.dropped, fault.dropped_shared) for fault in faults] == [(1, 1), (1, 0)]
    missed = [fault.excused + fault.lost for fault in faults]
    shared = [fault.excused_shared + fault.lost_shared for fault in faults]
    assert missed[0] == missed[1] == shared[0] > 0
    assert shared[1] == 0
    (line,) = fault_lines(faults)
    assert "kill (2 times): " in line
    assert "; 1 late, " in line
    assert ", 1 dropped" in line
