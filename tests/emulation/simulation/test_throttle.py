"""Virtual time is held to a multiple of real time, in which nothing of the run changes."""

from __future__ import annotations

from pathlib import Path

from emulation.planning.plan import make_plan
from emulation.simulation.run import simulate
from emulation.simulation.throttle import Throttle
from record.time_units import SECOND
from scenario.loading import load


class Clock:
    """Real time, which passes when somebody waits."""

    def __init__(self) -> None:
        self.now = 100.0
        self.flushed: list[float] = []

    def wait(self, seconds: float) -> None:
        self.now += seconds

    def flush(self) -> None:
        self.flushed.append(round(self.now, 3))

    def throttle(self, speed: float) -> Throttle:
        return Throttle(speed, self.wait, self.flush, lambda: self.now)


def test_virtual_time_waits_for_real_time_and_logs_are_written_meanwhile() -> None:
    clock = Clock()
    throttle = clock.throttle(speed=4.0)
    for tenth in range(41):
        throttle.hold(tenth * SECOND // 10)
    assert round(clock.now, 6) == 101.0
    assert clock.flushed == [100.0, 100.25, 100.5, 100.75]


def test_time_that_the_host_loses_is_not_made_up_for() -> None:
    clock = Clock()
    throttle = clock.throttle(speed=1.0)
    throttle.hold(0)
    clock.now += 60.0
    throttle.hold(SECOND)
    throttle.hold(2 * SECOND)
    assert clock.now == 161.0


SCENARIO = """
name: line
topology: {kind: line, brokers: 3, link: {delay: 2ms, loss: 1%}}
routing: {protocol: tid}
workload: {publications: {source: stocks, publishers: 1, rate: 20/s}, subscriptions: {subscribers: 2, selectivity: 30%}}
timeline: {join: 1s, run: 2s, drain: 1s}
"""


def test_a_run_that_is_held_back_writes_the_same_logs(tmp_path: Path) -> None:
    file = tmp_path / "line.yaml"
    file.write_text(SCENARIO)
    free = simulate(make_plan(load(file)), tmp_path / "free").directory
    held = simulate(make_plan(load(file)), tmp_path / "held", speed=50.0).directory
    logs = {log.name: log.read_bytes() for log in (free / "logs").iterdir() if log.suffix == ".jsonl"}
    assert len(logs) > 3
    assert logs == {log.name: log.read_bytes() for log in (held / "logs").iterdir() if log.suffix == ".jsonl"}
