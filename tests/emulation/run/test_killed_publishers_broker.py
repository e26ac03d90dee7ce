"""The kill of a publisher's broker costs the same in the simulator and on broker processes."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest

from analysis.tables.summary import Summary
from record import fidelity
from record.fidelity import FidelityVerdict
from record.log import Event, TraceRecord
from record.slower_run import others_took_much
from record.time_units import SECOND
from tests.emulation.run.test_end_to_end import brokerlab, only_run

SCENARIO = """
name: killed
topology: {kind: line, brokers: 3, link: {delay: 50ms}}
routing: {protocol: tid, publications: fixed}
workload:
  publications: {source: stocks, symbols: 1, publishers: 1, placement: [B1], rate: 200/s}
  subscriptions: {subscribers: 2, placement: [B3], selectivity: 100%}
timeline: {join: 1.5s, run: 4.5s, drain: 1s}
faults: [{at: run+0.5s, kill: B1, for: 1.6s}]
"""
"""The client tries again 2.55 s after the kill, and a second later if the broker has not started by then."""
AGREES_WITHIN = 0.2
"""Share by which the two runs may differ."""

pytestmark = [
    pytest.mark.container,
    pytest.mark.skipif(
        os.geteuid() != 0 or shutil.which("docker") is None or shutil.which("mnexec") is None,
        reason="needs root, Docker and Mininet",
    ),
]


@dataclass(frozen=True)
class Cost:
    """The cost of the kill in one run."""

    excused: int
    """Notifications that the fault excuses."""
    outage: float
    """Seconds from the kill until the publisher has a session again."""
    starved: str
    """The reasons why the host was too busy for the run; empty where it was not."""

    @property
    def rate(self) -> float:
        """Excused notifications for each second of the outage."""
        return self.excused / self.outage


def cost(runtime: str, directory: Path) -> Cost:
    """The cost on a runtime."""
    scenario = directory / "killed.yaml"
    scenario.write_text(SCENARIO)
    out = directory / runtime
    ended = brokerlab("emulate", scenario, "--runtime", runtime, "--no-spark", "--no-report", "--out", out)
    assert ended.returncode in {0, 3}, ended.stdout
    run = only_run(out)
    (variant,) = msgspec.json.decode((run / "summary.json").read_bytes(), type=Summary).variants
    records = list(map(msgspec.json.Decoder(TraceRecord).decode, (run / "logs/publishers.jsonl").open("rb")))
    lost = next(record.time for record in records if record.event is Event.LINK_DOWN)
    back = next(record.time for record in records if record.event is Event.LINK_UP and record.time > lost)
    judged = fidelity.read(run).variants[0]
    invalid = [check.name for check in judged.checks if check.verdict is FidelityVerdict.INVALID]
    others = ["other programs"] if others_took_much(judged.processors) else []
    starved = ", ".join([*invalid, *others])
    return Cost(variant.delivery.excused, (back - lost) / SECOND, starved)


@pytest.mark.proof
@pytest.mark.parametrize("runtime", ["process"])
def test_what_waits_for_a_killed_broker_is_lost_in_the_simulator_as_on(runtime: str, tmp_path: Path) -> None:
    """A client declares again and sends what waited at once, before subscriptions have come back along the links.

    A broker of a busy host starts late, so the client comes back at a later attempt, and its longer outage costs more.
    """
    simulated, real = cost("simulated", tmp_path), cost(runtime, tmp_path)
    assert simulated.outage == pytest.approx(2.55)
    assert simulated.excused > 1000
    agree = abs(real.rate / simulated.rate - 1) <= AGREES_WITHIN
    if not real.starved:
        agree &= abs(real.excused / simulated.excused - 1) <= AGREES_WITHIN
    elif not agree:
        pytest.skip(f"{real} and {simulated}: the host was too busy for the run to prove anything")
    assert agree, (real, simulated)
