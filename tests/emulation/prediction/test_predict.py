"""Predictions of whole runs, from costs that make them easy to work out."""

from __future__ import annotations

from unittest import mock

import pytest

from emulation.host.room import Host
from emulation.planning.calibration import Calibration, HostCosts, Latency, load_calibration
from emulation.planning.carrying import memory_of
from emulation.planning.plan import Plan, make_plan
from emulation.prediction.contention import scheduled
from emulation.prediction.predict import MOST_CONTENTION, WAKING, VariantPrediction, predict
from emulation.prediction.rehearsal import rehearse
from scenario.loading import load_text

SCENARIO = """
name: star
topology: {kind: star, brokers: 9, link: {delay: 1ms}}
routing: {protocol: tid}
workload:
  publications: {source: stocks, publishers: 1, rate: 50/s, placement: [B1]}
  subscriptions: {subscribers: 8, selectivity: 100%, placement: [B2, B3, B4, B5, B6, B7, B8, B9]}
timeline: {join: 4s, run: 4s, drain: 1s}
"""


def planned(more: str = "") -> Plan:
    return make_plan(load_text(SCENARIO + more, "star.yaml"))


def predicted(frame: int, processors: int, more: str = "", host: HostCosts | None = None) -> VariantPrediction:
    calibration = Calibration(frame=frame, work={"publish": 1}, host=host or HostCosts())
    (found,) = predict(planned(more), calibration, Host(processors, 1 << 30))
    return found


def test_the_busy_share_is_work_over_time() -> None:
    found = predicted(1_000_000, 4)
    assert found.load.processors == pytest.approx(50 * 9 * 1e-3 / 4, rel=0.02), "nine brokers handle each publication"
    assert predicted(1_000_000, 2).load.processors == pytest.approx(2 * found.load.processors)


def test_brokers_that_a_flood_wakes_at_once_wait_for_processors() -> None:
    assert predicted(100_000, 9).load.contention == 0, "there is a processor for each"
    alone, two = predicted(100_000, 1).load, predicted(100_000, 2).load
    assert alone.contention == pytest.approx(7 * 100e-6, rel=0.05), "the client's process comes behind all of them"
    assert two.contention == pytest.approx(3 * 100e-6, rel=0.05), "two are served at a time"
    assert two.delay == pytest.approx(1e-3 + 200e-6 + two.contention, rel=0.05)


def test_the_backlog_of_a_broker_alone_is_no_contention() -> None:
    found = predicted(10_000_000, 64, "", HostCosts(turn=20_000_000)).load
    assert found.contention == 0 and found.delay > 0.1, "each broker has a processor, and 30 ms of work every 20 ms"


def test_the_dilation_is_the_least_that_leaves_room() -> None:
    found = predicted(1_000_000, 1)
    assert not found.load.carried and found.least.carried
    assert found.least.dilation > 1
    tried = predicted(1_000_000, 1, f"time_dilation: {found.least.dilation}")
    assert tried.load == found.least == tried.least


def test_a_dilation_lowers_the_shares_of_work_and_of_contention() -> None:
    load, slower = predicted(1_000_000, 1).load, predicted(1_000_000, 1, "time_dilation: 4").load
    assert slower.processors == pytest.approx(load.processors / 4)
    assert slower.contention == pytest.approx(load.contention / 4, rel=0.05)


def test_brokers_at_rest_take_processors_whatever_the_dilation() -> None:
    rest = HostCosts(broker_second=10_000_000, link_second=1_000_000, second=20_000_000)
    expected = 9 * 0.01 + 8 * 0.001 + 0.02
    for more in ("", "time_dilation: 4"):
        assert predicted(0, 1, more, rest).load.processors == pytest.approx(expected, rel=0.01)


def test_a_frame_costs_a_broker_more_than_its_charge() -> None:
    more = HostCosts(turn=500_000)
    assert predicted(500_000, 2, "", more).load.processors == pytest.approx(predicted(1_000_000, 2).load.processors)


def test_one_wake_up_of_the_relay_carries_a_burst() -> None:
    found = predicted(0, 9, "", HostCosts(relayed_frame=1_000_000)).load.processors
    awake = 1 - WAKING
    assert 9 * found == pytest.approx(50 * (1 + 7 * awake) * 1e-3, rel=0.01), "a publication goes to eight at once"


def test_what_latencies_at_rest_are_beyond_their_mean_is_contention() -> None:
    half_and_half = Latency((0,) * 64 + (400_000,) * 64)
    calibration = Calibration(link=half_and_half, submit=half_and_half, notify=half_and_half)
    (found,) = predict(planned(), calibration, Host(16, 1 << 30))
    assert half_and_half.excess == 100_000
    assert found.load.contention == pytest.approx(3 * 100e-6, abs=1e-6), "from the client, over a link, to the client"
    (slower,) = predict(planned("time_dilation: 4"), calibration, Host(16, 1 << 30))
    assert slower.load.contention == pytest.approx(found.load.contention / 4, abs=1e-6)


def test_waits_that_latencies_do_not_hold_are_contention_at_each_broker_and_at_the_last_one_twice() -> None:
    waits = HostCosts(waking=300_000, waking_beyond=200_000)
    found = predicted(0, 16, "", waits).load
    assert found.contention == pytest.approx(3 * 200e-6, abs=2e-6), "at two brokers, and behind the client's process"
    assert predicted(0, 16, "time_dilation: 4", waits).load.contention == pytest.approx(3 * 50e-6, abs=2e-6)


def test_dilations_that_turns_alone_overload_are_not_scheduled() -> None:
    with mock.patch("emulation.prediction.predict.scheduled", wraps=scheduled) as looked_at:
        predicted(10_000_000, 1)
    first, second, *_ = [call.args[3] for call in looked_at.call_args_list]
    assert (first, second) == (1, 10), "4.5 times the work that one processor has time for, which may be 60% busy"


def test_a_dilation_beyond_all_that_are_tried_stays() -> None:
    found = predicted(0, 1, "time_dilation: 200", HostCosts(waking_beyond=10_000_000_000))
    assert not found.load.carried and found.least == found.load


def test_each_variant_is_shown() -> None:
    shown: list[str] = []
    predict(planned("vary: {time_dilation: [1, 2]}"), Calibration(), Host(2, 1), shown.append)
    assert [line.partition(":")[0] for line in shown] == ["variant 1 of 2, 1", "variant 2 of 2, 2"]


def test_memory_records_and_time_are_of_the_whole_variant() -> None:
    found = predicted(0, 1)
    assert found.memory == memory_of(9)
    assert found.records == pytest.approx(50 * 4 * 42, rel=0.15)
    assert predicted(0, 1, "time_dilation: 3").seconds == pytest.approx(found.seconds + 2 * 9)


def test_variants_that_differ_in_dilation_alone_are_rehearsed_once() -> None:
    plan = planned("vary: {time_dilation: [1, 2], routing.publications: [fixed, dynamic]}")
    with mock.patch("emulation.prediction.predict.rehearse", wraps=rehearse) as rehearsed:
        assert len(predict(plan, Calibration(), Host(2, 1))) == 4
    assert rehearsed.call_count == 2


def test_the_shipped_costs_are_complete() -> None:
    costs = load_calibration().host
    assert all(getattr(costs, name) > 0 for name in costs.__struct_fields__ if name != "waking_beyond")
    assert costs.waking_beyond == 0, "the latencies are as measured"
    assert 0 < MOST_CONTENTION < 0.1
