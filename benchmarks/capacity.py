"""Capacity of this host: the highest rate at which runs on real brokers are correct and all their figures hold.

    python -m benchmarks.capacity                      16, 30 and 56 broker containers, about 15 minutes
    python -m benchmarks.capacity --brokers 30 --runtime process

The overlay is that of `scenarios/cyclic-30.yaml` with dynamic publications: links of 2 to 10 ms, two publishers for
three brokers and a subscriber for each. Rates are tried by `brokerlab search` to within a tenth. At a rate that is
carried, deliveries are correct, mean and 99th percentile of the delay are VALID by the budget of delays, and queues do
not grow; the table says what breaks first beyond it.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import msgspec
from rich.table import Table

from benchmarks.targets import Bound, Judgement, Target, conclude, console
from emulation.host.reference_loops import Reference
from studies.saturation.capacity import Capacity, SaturationSummary

SIZES = (16, 30, 56)
JUDGED = 30
"""Brokers of the overlay that the target is about."""

CAPACITY = Target(
    "rate of each of 20 publishers that 30 broker containers carry",
    Bound.AT_LEAST,
    104,
    "/s",
    Reference.INTERPRETER,
    "it is twice what was carried when it was measured first, and has not been raised since",
)

SCENARIO = """
name: capacity
topology: {{kind: cyclic, brokers: {brokers}, degree: 4, link: {{delay: 2ms..10ms, jitter: 5%, bandwidth: 10mbit}}}}
routing: {{protocol: tid, publications: dynamic}}
workload:
  publications: {{source: stocks, publishers: {publishers}, publishers_per_symbol: 2, rate: {rate:g}/s}}
  subscriptions: {{subscribers: {brokers}, popularity: zipf, selectivity: 2%}}
timeline: {{join: 6s, run: 15s, drain: 4s}}
expect: {{valid: [mean, p99]}}
seed: 1
"""
SEARCH = """
search:
  raise: workload.publications.rate
  from: 2/s
  to: 512/s
  while: {mean: 10s, p99: 10s}
  seeds: 1
  within: 10%
"""
"""The delays are bounded so that they must be VALID; far below, queues grow."""


def capacity_of(brokers: int, runtime: str) -> Capacity:
    """Searches the capacity of an overlay. Raises `SystemExit` with the command's own output when it came to no end."""
    with tempfile.TemporaryDirectory(prefix="capacity-") as directory:
        scenario, out = Path(directory, "capacity.yaml"), Path(directory, "search")
        scenario.write_text(SCENARIO.format(brokers=brokers, publishers=brokers * 2 // 3, rate=2) + SEARCH)
        command = [sys.executable, "-m", "command_line", "search", str(scenario), "--runtime", runtime]
        done = subprocess.run([*command, "--out", str(out)], capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"the search ended with exit code {done.returncode}:\n{done.stdout}{done.stderr}")
        summary = msgspec.json.decode((out / "saturation.json").read_bytes(), type=SaturationSummary)
        (capacity,) = summary.capacities
        return capacity


def row_of(brokers: int, capacity: Capacity) -> Sequence[str]:
    """A row of the table."""
    rate, end = capacity.highest or 0.0, capacity.end
    mean = next((point.mean("mean_ms") for point in capacity.points if point.load == capacity.highest), None)
    return (
        str(brokers), f"{rate:.1f}", f"{rate * (brokers * 2 // 3):,.0f}", "" if mean is None else f"{mean:.1f}",
        *(("", "") if end is None else (f"{end.load:.1f}", end.reason or end.outcome)),
    )  # fmt: skip


def run(arguments: Sequence[str]) -> list[Judgement]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--brokers", type=int, nargs="+", default=SIZES, help="sizes of the overlay")
    parser.add_argument("--runtime", default="container", choices=("container", "process"))
    parsed = parser.parse_args(arguments)
    table = Table("brokers", "carried, /s each", "in all, /s", "mean delay, ms", "first not carried", "because")
    judgements = []
    for brokers in parsed.brokers:
        capacity = capacity_of(brokers, parsed.runtime)
        table.add_row(*row_of(brokers, capacity))
        if brokers == JUDGED:
            judgements.append(CAPACITY.judge(capacity.highest or 0.0))
    console().print(table)
    return judgements


if __name__ == "__main__":
    sys.exit(conclude(run(sys.argv[1:])))
