"""A broker's own costs: kept in a file, drawn from a seed, and charged by kind."""

from __future__ import annotations

import statistics
from pathlib import Path
from random import Random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_service.messages import ClientRequest, Kind, Message, Operation
from emulation.planning.calibration import (
    GROUPS,
    Calibration,
    HostCosts,
    Latency,
    load_calibration,
    save_calibration,
)
from emulation.simulation.charging import sampler, work_cost
from record.errors import BadInputError
from record.host_speed import LoopTimes


@given(st.lists(st.floats(0, 1e9), min_size=1, max_size=2000))
def test_groups_keep_the_mean_and_the_order(times: list[float]) -> None:
    latency = Latency.of(times)
    assert list(latency.groups) == sorted(latency.groups)
    assert min(times) - 1 <= latency.groups[0]
    assert latency.groups[-1] <= max(times) + 1
    if len(times) <= GROUPS and GROUPS % len(times) == 0:
        assert latency.mean == pytest.approx(statistics.fmean(times), abs=1)
    if len(times) % GROUPS == 0:
        assert latency.mean == pytest.approx(statistics.fmean(times), abs=1)


def test_a_long_tail_keeps_its_weight() -> None:
    times = [1e6] * 990 + [50e6] * 10
    drawn = sampler(Latency.of(times), Random(1))
    assert statistics.fmean(drawn() for _ in range(50_000)) == pytest.approx(statistics.fmean(times), rel=0.05)


def test_draws_follow_from_the_seed() -> None:
    latency = Latency.of(range(10_000))
    once, again, other = (sampler(latency, Random(seed)) for seed in (1, 1, 2))
    first = [once() for _ in range(50)]
    assert first == [again() for _ in range(50)]
    assert first != [other() for _ in range(50)]


def test_times_below_zero_count_as_none() -> None:
    assert Latency.of([-5.0, -1.0]).mean == 0
    assert set(Latency.of([10.0]).less(30).groups) == {0}


def test_nothing_measured_is_no_distribution() -> None:
    with pytest.raises(ValueError, match="no times were measured"):
        Latency.of([])


def test_what_is_free_takes_no_time() -> None:
    free = Calibration.free()
    assert work_cost(free) is None
    assert {sampler(free.link, Random(1))() for _ in range(5)} == {0}


def test_messages_and_requests_cost_by_kind() -> None:
    cost = work_cost(Calibration(work={"publish": 50, "subscribe": 700}))
    assert cost is not None
    assert cost(Message(Kind.PUBLISH, "p")) == cost(ClientRequest("C", 1, Operation.PUBLISH)) == 50
    assert cost(Message(Kind.SUBSCRIBE, "s")) == cost(ClientRequest("C", 1, Operation.SUBSCRIBE)) == 700
    assert cost(Message(Kind.ADVERTISE, "a")) == cost(ClientRequest("C", 1, Operation.ATTACH)) == 0


def test_a_saved_calibration_is_the_same_again(tmp_path: Path) -> None:
    calibration = Calibration(link=Latency.of(range(1000)), frame=7, work={"publish": 5})
    path = tmp_path / "new" / "calibration.json"
    save_calibration(calibration, path)
    assert load_calibration(path) == calibration
    assert [entry.name for entry in path.parent.iterdir()] == ["calibration.json"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"work": {"publsh": 5}}', "there is no kind 'publsh'"),
        ('{"work": {"publish": -5}}', "work: publish: a time cannot be below 0"),
        ('{"link": {"groups": [1, 2]}}', r"128 values or none, not 2 - at `\$.link`"),
        ('{"frame": -1}', "frame: a time cannot be below 0"),
        ('{"hop": {}}', "unknown field `hop`"),
        ("{", "truncated"),
    ],
)
def test_a_wrong_file_names_itself_and_the_field(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "c.json"
    path.write_text(content)
    with pytest.raises(BadInputError, match=message) as raised:
        load_calibration(path)
    assert str(raised.value).startswith(f"{path}: ")
    assert "brokerlab calibrate --out" in str(raised.value)


def test_a_missing_file_says_how_it_is_made(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="No such file or directory; `brokerlab calibrate --out"):
        load_calibration(tmp_path / "none.json")


def test_a_calibration_tells_where_it_comes_from() -> None:
    shipped = load_calibration()
    assert shipped.origin is not None
    assert shipped.origin.processor in shipped.source and shipped.origin.created in shipped.source
    assert Calibration.free().source == "stated by hand, not measured"


def test_costs_on_another_host_are_scaled_by_its_loops_and_on_the_same_host_are_the_same() -> None:
    shipped = load_calibration()
    assert shipped.loops is not None
    assert shipped.origin is not None
    assert "derived" in shipped.origin.loops
    assert msgspec.structs.replace(shipped.on(shipped.loops), loops=shipped.loops) == shipped
    faster = LoopTimes(interpreter=shipped.loops.interpreter // 2)
    found = shipped.on(faster)
    assert found.frame == pytest.approx(shipped.frame / 2, abs=1)
    assert found.work["publish"] == pytest.approx(shipped.work["publish"] / 2, abs=1)
    assert found.host.turn == pytest.approx(shipped.host.turn / 2, abs=1)
    assert found.link.mean == pytest.approx(shipped.link.mean / 2, rel=1e-4)
    assert found.submit.mean == pytest.approx(shipped.submit.mean / 2, rel=1e-4)
    assert found.loops == faster


def test_waiting_to_be_woken_up_is_not_shorter_where_loops_are() -> None:
    stated = Calibration(host=HostCosts(turn=100, waking=80), loops=LoopTimes(interpreter=100))
    faster = stated.on(LoopTimes(interpreter=25))
    assert faster.host == HostCosts(turn=25, waking=80, waking_beyond=60), "latencies of a quarter hold a quarter of it"
    again = faster.on(LoopTimes(interpreter=50))
    assert again.host.waking_beyond == 40, "and latencies of a half hold a half"
    slower = stated.on(LoopTimes(interpreter=200))
    assert slower.host.waking_beyond == 0


def test_costs_of_a_host_of_unknown_speed_hold_anywhere() -> None:
    stated = Calibration(frame=7)
    assert stated.on(LoopTimes(interpreter=1)) is stated
