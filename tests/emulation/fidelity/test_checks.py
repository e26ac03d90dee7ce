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
from record.fidelity import FidelityVerdict, LinkCheck, worst


def link(phase: str, ok: bool) -> LinkCheck:
    return LinkCheck(
        a="B1", b="B2", phase=phase, delay_asked=0.005, delay_measured=0.005 if ok else 0.009, rate_asked=None,
        rate_measured=None, loss_asked=0.0, loss_measured=None, ok=ok, detail="" if ok else "took 9.0 ms, asked 5.0 ms",
    )  # fmt: skip


IDLE_HOST = HostUse(idle=0.6, steal=0.0, cpu_pressure=0.2, memory_pressure=0.0, lowest_idle=0.3)


def good() -> Measurements:
    return Measurements(
        variant="base",
        links=[link("before", True), link("during", True)],
        host=IDLE_HOST,
        logs=LogFindings(lag={"B1": [0.001] * 20}, lateness=[0.001] * 100),
        relay=Relayed(lateness=0.0001, frames=1000, missed=0),
        host_throttled=0.0,
    )


def verdict_of(measured: Measurements, check: str) -> FidelityVerdict:
    (found,) = [judged for judged in judge(measured).checks if judged.name.startswith(check)]
    return found.verdict


def test_a_run_that_kept_every_promise_is_valid() -> None:
    judged = judge(good())
    assert judged.verdict is FidelityVerdict.VALID
    assert judged.reasons == []
    assert all(check.value is not None for check in judged.checks)


@pytest.mark.parametrize(
    ("change", "check", "verdict"),
    [
        ({"links": [link("before", False)]}, "links before load", FidelityVerdict.INVALID),
        ({"links": [link("before", True)] * 300 + [link("before", False)]}, "links before", FidelityVerdict.INVALID),
        ({"links": [link("during", True)] * 3 + [link("during", False)]}, "probes during", FidelityVerdict.DEGRADED),
        ({"links": [link("during", False)] * 4}, "links during load", FidelityVerdict.INVALID),
        ({"relay": Relayed(0.002, 1000, 0)}, "relay lateness", FidelityVerdict.DEGRADED),
        ({"relay": Relayed(0.02, 1000, 0)}, "relay lateness", FidelityVerdict.INVALID),
        ({"relay": Relayed(0.0001, 1000, 0, held_up=0.007)}, "relay held up", FidelityVerdict.DEGRADED),
        ({"relay": Relayed(0.0001, 1000, 0, held_up=0.02)}, "relay held up", FidelityVerdict.INVALID),
        ({"host_throttled": 0.05}, "periods in which a CPU quota", FidelityVerdict.DEGRADED),
        ({"host_throttled": 0.5}, "periods in which a CPU quota", FidelityVerdict.INVALID),
        ({"logs": LogFindings(other_clocks={"B1": 50.0})}, "nodes with another clock", FidelityVerdict.INVALID),
        ({"logs": LogFindings(started=Counter(B1=1))}, "logs without an end", FidelityVerdict.INVALID),
        ({"relay": Relayed(0.0001, 100_000, 1)}, "frames the relay missed", FidelityVerdict.DEGRADED),
        ({"relay": Relayed(0.0001, 100, 1)}, "frames the relay missed", FidelityVerdict.INVALID),
        (
            {"logs": LogFindings(lag={"B1": [0.001], "B2": [0.05] * 5})},
            "broker event loop lag",
            FidelityVerdict.DEGRADED,
        ),
        ({"logs": LogFindings(lateness=[0.3] * 5)}, "publications handed over late", FidelityVerdict.INVALID),
        (
            {"logs": LogFindings(changes=[0.01] * 90 + [0.1] * 9)},
            "changes of links made late",
            FidelityVerdict.DEGRADED,
        ),
        ({"logs": LogFindings(changes=[0.6] * 5)}, "changes of links made late", FidelityVerdict.INVALID),
        ({"logs": LogFindings(lost={"B7": 1})}, "log records lost", FidelityVerdict.INVALID),
        ({"logs": LogFindings(torn=1)}, "unreadable log lines", FidelityVerdict.DEGRADED),
        ({"host": dataclasses.replace(IDLE_HOST, idle=0.1)}, "CPU busy", FidelityVerdict.DEGRADED),
        ({"host": dataclasses.replace(IDLE_HOST, idle=0.01)}, "CPU busy", FidelityVerdict.INVALID),
        ({"host": dataclasses.replace(IDLE_HOST, steal=0.05)}, "CPU stolen", FidelityVerdict.DEGRADED),
        ({"host": dataclasses.replace(IDLE_HOST, cpu_pressure=0.8)}, "CPU pressure", FidelityVerdict.DEGRADED),
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
    host = dataclasses.replace(IDLE_HOST, cpu_pressure=None, memory_pressure=None)
    judged = judge(dataclasses.replace(good(), host=host))
    assert judged.verdict is FidelityVerdict.VALID
    assert [check.value for check in judged.checks if "pressure" in check.name] == [None, None]


def test_a_quota_that_throttles_does_what_it_was_asked_to() -> None:
    """Brokers that wait for their quota's next period are late, and the kernel counts them as waiting for a CPU."""
    late = LogFindings(lag={"B1": [0.3] * 20}, lateness=[0.001] * 100)
    waiting = dataclasses.replace(IDLE_HOST, cpu_pressure=0.99)
    measured = dataclasses.replace(good(), logs=late, host=waiting)
    assert judge(measured).verdict is FidelityVerdict.INVALID
    held_back = dataclasses.replace(measured, quotas=True, throttling=Throttling(quota=0.5, share=0.9))
    assert judge(held_back).verdict is FidelityVerdict.VALID
    unused = dataclasses.replace(measured, quotas=True, throttling=Throttling(quota=0.5, share=0.0))
    assert verdict_of(unused, "broker event loop lag") is FidelityVerdict.INVALID
    assert verdict_of(dataclasses.replace(held_back, host=dataclasses.replace(IDLE_HOST, idle=0.01)), "CPU busy") is (
        FidelityVerdict.INVALID
    )


def test_one_broker_with_a_quota_for_a_while_excuses_pressure_and_no_lag() -> None:
    waiting = dataclasses.replace(IDLE_HOST, cpu_pressure=0.99)
    late = LogFindings(lag={"B1": [0.3] * 20}, lateness=[0.001] * 100)
    assert judge(dataclasses.replace(good(), host=waiting, quotas=True)).verdict is FidelityVerdict.VALID
    assert (
        verdict_of(dataclasses.replace(good(), logs=late, quotas=True), "broker event loop lag")
        is FidelityVerdict.INVALID
    )


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
    logs=LogFindings(lag={"B1": [0.05] * 20}, lateness=[0.05] * 100, worst_lag={1: 0.05}, worst_lateness={0: 0.02}),
    relay=Relayed(lateness=0.004, frames=1000, missed=0),
    intervals=[ObservedInterval(0.0, 1.0, IDLE_HOST, 0.004, 0.1), ObservedInterval(1.0, 2.0, None, None, None)],
)


def test_waits_count_in_the_scenarios_time() -> None:
    """A wait of 50 ms in a run five times slower took 10 ms of the scenario's time."""
    assert judge(SLOW).verdict is FidelityVerdict.DEGRADED
    judged = judge(dataclasses.replace(SLOW, time_dilation=5.0))
    assert judged.verdict is FidelityVerdict.VALID
    values = {check.name: check.value for check in judged.checks}
    assert values["relay lateness, 99th percentile"] == pytest.approx(0.8)
    assert values["publications handed over late, 99th percentile"] == pytest.approx(10)


def test_the_series_is_in_the_scenarios_time() -> None:
    first, second = judge(dataclasses.replace(SLOW, time_dilation=2.0)).samples
    assert (first.begin, first.end, second.end) == (0.0, 0.5, 1.0)
    assert (first.relay_lateness, first.relay_held_up, first.cpu_busy) == (0.002, 0.1, 0.4)
    assert (first.workload_lateness, first.loop_lag) == (0.01, None)
    assert (second.loop_lag, second.cpu_busy, second.relay_lateness) == (0.025, None, None)


@pytest.mark.parametrize(
    ("idle", "dilation", "advised"),
    [(0.02, 1.0, "`--set time_dilation=2` or more"), (0.0, 4.0, "`--set time_dilation=7` or more")],
)
def test_busy_processors_ask_for_dilation(idle: float, dilation: float, advised: str) -> None:
    """98% at 1 is 60% at 1.63, rounded up; 100% at 4 is 60% at 6.7."""
    host = dataclasses.replace(IDLE_HOST, idle=idle)
    assert advised in judge(dataclasses.replace(good(), host=host, time_dilation=dilation)).advice


def test_other_programs_are_told_apart_from_the_run() -> None:
    host = dataclasses.replace(IDLE_HOST, idle=0.0)
    light = judge(dataclasses.replace(good(), host=host, own_cpu=0.3)).advice
    assert "Other programs took 70%" in light
    assert "time_dilation" not in light
    heavy = judge(dataclasses.replace(good(), host=host, own_cpu=0.7)).advice
    assert "Other programs took 30%" in heavy
    assert "`--set time_dilation=2` or more" in heavy


def test_a_wait_on_idle_processors_asks_for_as_much_as_it_was_too_long() -> None:
    """130 ms where 20 ms are VALID: 6.5 times slower, rounded up; the processors had time, so not `or more`."""
    judged = judge(dataclasses.replace(good(), logs=LogFindings(lag={"B1": [0.13] * 20})))
    assert judged.verdict is FidelityVerdict.INVALID
    assert "`--set time_dilation=7` would" in judged.advice


def test_a_host_that_was_nearly_too_slow_is_told_so() -> None:
    """90% of the CPUs at 1 are 60% at 1.5, rounded up."""
    judged = judge(dataclasses.replace(good(), host=dataclasses.replace(IDLE_HOST, idle=0.1)))
    assert judged.verdict is FidelityVerdict.DEGRADED
    assert judged.advice.startswith("This host was nearly too slow: an estimated `--set time_dilation=2` would")


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
