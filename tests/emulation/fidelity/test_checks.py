"""Each promise, kept and broken."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulation.fidelity import Measurements, ObservedInterval, Relayed, Throttling, judge, judge_modelled
from emulation.fidelity.checks import percentile
from emulation.fidelity.host import HostUse
from emulation.fidelity.logs import LogFindings
from emulation.runtimes.interface import Ending
from record.fidelity import FidelityVerdict, LinkCheck, ProcessorUse, worst
from record.figures import JUDGED_LATER


def link(phase: str, ok: bool) -> LinkCheck:
    return LinkCheck(
        a="B1", b="B2", phase=phase, delay_asked=0.005, delay_measured=0.005 if ok else 0.009, rate_asked=None,
        rate_measured=None, loss_asked=0.0, loss_measured=None, ok=ok, detail="" if ok else "took 9.0 ms, asked 5.0 ms",
    )  # fmt: skip


IDLE_HOST = HostUse(idle=0.6, steal=0.0, cpu_pressure=0.2, memory_pressure=0.0)


def good() -> Measurements:
    return Measurements(
        variant="base",
        links=[link("before", True), link("during", True)],
        host=IDLE_HOST,
        relay=Relayed(frames=1000, missed=0),
        host_throttled=0.0,
    )


def verdict_of(measured: Measurements, check: str) -> FidelityVerdict:
    (found,) = [judged for judged in judge(measured).checks if judged.name.startswith(check)]
    return found.verdict


def test_a_run_that_kept_every_promise_is_valid() -> None:
    judged = judge(good())
    assert judged.verdict is FidelityVerdict.VALID
    assert judged.reasons == []
    assert all(check.value is not None or check == JUDGED_LATER for check in judged.checks)


def test_busy_processors_and_late_loops_are_no_verdict_by_themselves() -> None:
    """Their effect on a figure is in the budget of the delays, which does not exist before the analysis."""
    busy = dataclasses.replace(IDLE_HOST, idle=0.0, cpu_pressure=1.0)
    late = LogFindings(worst_lag={1: 5.0}, worst_lateness={1: 5.0})
    judged = judge(dataclasses.replace(good(), host=busy, own_cpu=0.4, logs=late))
    assert judged.verdict is FidelityVerdict.VALID
    assert judged.processors == ProcessorUse(busy=1.0, own=0.4)
    assert JUDGED_LATER in judged.checks


@pytest.mark.parametrize(
    ("change", "check", "verdict"),
    [
        ({"links": [link("before", False)]}, "links before load", FidelityVerdict.INVALID),
        ({"links": [link("before", True)] * 300 + [link("before", False)]}, "links before", FidelityVerdict.INVALID),
        ({"links": [link("during", True)] * 3 + [link("during", False)]}, "probes during", FidelityVerdict.DEGRADED),
        ({"links": [link("during", False)] * 4}, "links during load", FidelityVerdict.INVALID),
        ({"relay": Relayed(1000, 0, held_up=0.007)}, "relay held up", FidelityVerdict.DEGRADED),
        ({"relay": Relayed(1000, 0, held_up=0.02)}, "relay held up", FidelityVerdict.INVALID),
        ({"host_throttled": 0.05}, "periods in which a CPU quota", FidelityVerdict.DEGRADED),
        ({"host_throttled": 0.5}, "periods in which a CPU quota", FidelityVerdict.INVALID),
        ({"logs": LogFindings(other_clocks={"B1": 50.0})}, "nodes with another clock", FidelityVerdict.INVALID),
        ({"logs": LogFindings(started=Counter(B1=1))}, "logs without an end", FidelityVerdict.INVALID),
        ({"relay": Relayed(100_000, 1)}, "frames the relay missed", FidelityVerdict.DEGRADED),
        ({"relay": Relayed(100, 1)}, "frames the relay missed", FidelityVerdict.INVALID),
        (
            {"logs": LogFindings(changes=[0.01] * 90 + [0.1] * 9)},
            "changes of links made late",
            FidelityVerdict.DEGRADED,
        ),
        ({"logs": LogFindings(changes=[0.6] * 5)}, "changes of links made late", FidelityVerdict.INVALID),
        ({"logs": LogFindings(lost={"B7": 1})}, "log records lost", FidelityVerdict.INVALID),
        ({"logs": LogFindings(torn=1)}, "unreadable log lines", FidelityVerdict.DEGRADED),
        ({"host": dataclasses.replace(IDLE_HOST, steal=0.05)}, "CPU stolen", FidelityVerdict.DEGRADED),
        ({"host": dataclasses.replace(IDLE_HOST, memory_pressure=0.2)}, "memory pressure", FidelityVerdict.INVALID),
        ({"endings": [Ending("B3", -9, ())]}, "brokers that ended", FidelityVerdict.INVALID),
        ({"unsettled": ["B4"]}, "join traffic", FidelityVerdict.DEGRADED),
    ],
)
def test_a_broken_promise_shows(change: dict[str, object], check: str, verdict: FidelityVerdict) -> None:
    measured = dataclasses.replace(good(), **change)  # type: ignore[arg-type]
    assert verdict_of(measured, check) is verdict
    assert judge(measured).verdict is verdict
    assert any(reason.startswith(check) for reason in judge(measured).reasons)


def test_reasons_say_which_link_and_what_it_means() -> None:
    (reason,) = judge(dataclasses.replace(good(), links=[link("before", False)])).reasons
    assert "B1 to B2 took 9.0 ms, asked 5.0 ms" in reason
    assert "do not have the delay" in reason


def test_what_cannot_be_measured_is_no_verdict() -> None:
    host = dataclasses.replace(IDLE_HOST, memory_pressure=None)
    judged = judge(dataclasses.replace(good(), host=host))
    assert judged.verdict is FidelityVerdict.VALID
    assert [check.value for check in judged.checks if "pressure" in check.name] == [None]


def test_a_quota_that_throttles_does_what_it_was_asked_to() -> None:
    judged = judge(dataclasses.replace(good(), throttling=Throttling(quota=0.5, share=0.9)))
    assert judged.verdict is FidelityVerdict.VALID
    assert any(check.name == "brokers throttled by their quota" for check in judged.checks)


@given(st.lists(st.sampled_from(list(FidelityVerdict))))
def test_the_worst_verdict_wins(verdicts: list[FidelityVerdict]) -> None:
    order = [FidelityVerdict.INVALID, FidelityVerdict.DEGRADED, FidelityVerdict.VALID]
    assert worst(verdicts) is next((verdict for verdict in order if verdict in verdicts), FidelityVerdict.VALID)


@given(st.lists(st.floats(0, 1e6), min_size=1), st.floats(0.01, 1.0))
def test_a_percentile_is_the_smallest_value_that_covers_the_share(values: list[float], share: float) -> None:
    found = percentile(values, share)
    assert found in values
    needed = math.ceil(share * len(values))
    assert sum(value <= found for value in values) >= needed
    assert sum(value < found for value in values) < needed


SLOW = Measurements(
    variant="base",
    logs=LogFindings(changes=[0.15] * 100, worst_lag={1: 0.05}, worst_lateness={0: 0.02}),
    intervals=[ObservedInterval(0.0, 1.0, IDLE_HOST, 0.004, 0.1), ObservedInterval(1.0, 2.0, None, None, None)],
)


def test_lateness_counts_in_the_scenarios_time() -> None:
    """A change that took 150 ms in a run five times slower took 30 ms of the scenario's time."""
    assert judge(SLOW).verdict is FidelityVerdict.DEGRADED
    judged = judge(dataclasses.replace(SLOW, time_dilation=5.0))
    assert judged.verdict is FidelityVerdict.VALID
    values = {check.name: check.value for check in judged.checks}
    assert values["changes of links made late, 99th percentile"] == pytest.approx(30)


def test_the_series_is_in_the_scenarios_time() -> None:
    first, second = judge(dataclasses.replace(SLOW, time_dilation=2.0)).samples
    assert (first.begin, first.end, second.end) == (0.0, 0.5, 1.0)
    assert (first.relay_lateness, first.relay_held_up, first.cpu_busy) == (0.002, 0.1, 0.4)
    assert (first.workload_lateness, first.loop_lag) == (0.01, None)
    assert (second.loop_lag, second.cpu_busy, second.relay_lateness) == (0.025, None, None)


HELD_UP = dataclasses.replace(good(), relay=Relayed(1000, 0, held_up=0.02))


@pytest.mark.parametrize(
    ("idle", "dilation", "advised"),
    [
        (0.02, 1.0, "`--set time_dilation=2` or more"),
        (0.0, 4.0, "`--set time_dilation=7` or more"),
        (0.1, 1.0, "`--set time_dilation=2` would"),
    ],
)
def test_a_relay_that_is_held_up_asks_for_dilation(idle: float, dilation: float, advised: str) -> None:
    """98% at 1 is 60% at 1.63, rounded up; 100% at 4 is 60% at 6.7."""
    host = dataclasses.replace(IDLE_HOST, idle=idle)
    assert advised in judge(dataclasses.replace(HELD_UP, host=host, time_dilation=dilation)).advice


def test_other_programs_are_told_apart_from_the_run() -> None:
    host = dataclasses.replace(IDLE_HOST, idle=0.0)
    light = judge(dataclasses.replace(HELD_UP, host=host, own_cpu=0.3)).advice
    assert "Other programs took 70%" in light
    assert "time_dilation" not in light
    heavy = judge(dataclasses.replace(HELD_UP, host=host, own_cpu=0.7)).advice
    assert "Other programs took 30%" in heavy
    assert "`--set time_dilation=2` or more" in heavy


def test_what_is_not_for_lack_of_cpu_is_helped_otherwise() -> None:
    assert judge(good()).advice == ""
    links = judge(dataclasses.replace(good(), links=[link("before", False)])).advice
    assert "`--links`" in links
    assert "too slow" not in links
    both = dataclasses.replace(good(), unsettled=["B4"], logs=LogFindings(lost={"B7": 1}))
    lost, settling = judge(both).advice.split(". ")
    assert (lost.partition(":")[0], settling) == (
        "log records lost",
        "join traffic in flight when the run phase began: lengthen `timeline.join`",
    )


def test_a_simulated_run_is_helped_too() -> None:
    judged = judge_modelled(dataclasses.replace(good(), unsettled=["B4"]))
    assert judged.advice.endswith("lengthen `timeline.join`")


def test_changes_of_links_are_checked_where_there_are_any() -> None:
    assert not [check for check in judge(good()).checks if check.name.startswith("changes of links")]
    measured = dataclasses.replace(good(), logs=LogFindings(changes=[0.01] * 99), time_dilation=2.0)
    (check,) = [check for check in judge(measured).checks if check.name.startswith("changes of links")]
    assert (check.value, check.verdict) == (pytest.approx(5), FidelityVerdict.VALID)
