"""Capacity of this host: the highest rate at which runs on real brokers are correct and all their figures hold.

    python -m benchmarks.capacity                      16, 30 and 56 broker containers, about 13 minutes
    python -m benchmarks.capacity --brokers 30 --runtime process

The overlay is that of `scenarios/cyclic-30.yaml` with dynamic publications: links of 2 to 10 ms, two publishers for
three brokers and a subscriber for each. Rates are tried by bisection to within a tenth. At a rate that is carried,
delivery is correct, the fidelity verdict is VALID, and mean and 99th percentile of the delay hold by the budget of
delays; the table says what breaks first beyond it.
"""

from __future__ import annotations

import argparse
import math
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.table import Table

from analysis.tables.summary import CORRECT, VariantSummary, read_summary
from benchmarks.targets import Bound, Judgement, Target, conclude, console
from emulation.host.reference_loops import Reference
from record.fidelity import FidelityVerdict

SIZES = (16, 30, 56)
JUDGED = 30
"""Brokers of the overlay that the target is about."""
LOWEST, HIGHEST = 2.0, 1024.0
"""Publications a second of each publisher between which the capacity is sought."""
CLOSE = 1.1
"""Ratio of a rate that breaks to one that is carried at which the search ends."""

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


@dataclass(frozen=True, slots=True)
class Trial:
    """One run."""

    rate: float
    """Publications a second of each publisher."""
    broken: str
    """Name of the first thing that did not hold; empty for a rate that is carried."""
    mean: float = 0.0
    """Mean delay, milliseconds."""


def search(attempt: Callable[[float], Trial]) -> tuple[Trial | None, Trial | None]:
    """The highest rate found that is carried and the lowest above it that is not; None where there is none."""
    carried, broken = None, None
    rate = LOWEST * 8
    while LOWEST <= rate <= HIGHEST:
        trial = attempt(rate)
        if trial.broken:
            broken = trial
        else:
            carried = trial
        if carried is not None and broken is not None:
            if broken.rate / carried.rate <= CLOSE:
                break
            rate = math.sqrt(carried.rate * broken.rate)
        else:
            rate = rate / 2 if carried is None else rate * 2
    return carried, broken


def run_once(brokers: int, rate: float, runtime: str) -> Trial:
    """Runs the scenario once. Raises `SystemExit` with the run's own output when it left nothing to judge."""
    with tempfile.TemporaryDirectory(prefix="capacity-") as directory:
        scenario = Path(directory, "capacity.yaml")
        scenario.write_text(SCENARIO.format(brokers=brokers, publishers=brokers * 2 // 3, rate=rate))
        command = [sys.executable, "-m", "command_line", "emulate", str(scenario), "--runtime", runtime]
        command += ["--out", directory, "--no-report", "--no-spark", "--events", "none"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        summaries = list(Path(directory).glob("*/summary.json"))
        if not summaries:
            raise SystemExit(f"the run left no results (exit code {done.returncode}):\n{done.stdout}{done.stderr}")
        (variant,) = read_summary(summaries[0].parent).variants
        return Trial(rate, first_broken(variant), variant.delay.mean_ms or 0.0)


def first_broken(variant: VariantSummary) -> str:
    """Name of what does not hold in a run: delivery before figures, these before other checks; empty if all does."""
    if variant.delivery.verdicts != [CORRECT]:
        return "delivery is not correct"
    for figure in variant.delay.figures:
        if figure.counts and figure.verdict is not FidelityVerdict.VALID:
            return f"{figure.figure.in_words}: {figure.reason}"
    if variant.fidelity != FidelityVerdict.VALID:
        return next(
            (check.name for check in variant.checks if check.verdict is not FidelityVerdict.VALID),
            f"the emulation is {variant.fidelity}",
        )
    return ""


def run(arguments: Sequence[str]) -> list[Judgement]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--brokers", type=int, nargs="+", default=SIZES, help="sizes of the overlay")
    parser.add_argument("--runtime", default="container", choices=("container", "process"))
    parsed = parser.parse_args(arguments)
    table = Table("brokers", "carried, /s each", "in all, /s", "mean delay, ms", "first not carried", "because")
    judgements = []
    for brokers in parsed.brokers:

        def attempt(rate: float, brokers: int = brokers) -> Trial:
            trial = run_once(brokers, rate, parsed.runtime)
            print(f"  {brokers} brokers, {rate:.1f}/s each: {trial.broken or 'carried'}", flush=True)
            return trial

        carried, broken = search(attempt)
        rate = 0.0 if carried is None else carried.rate
        table.add_row(
            str(brokers), f"{rate:.1f}", f"{rate * (brokers * 2 // 3):,.0f}", f"{carried.mean:.1f}" if carried else "",
            f"{broken.rate:.1f}" if broken else "", broken.broken if broken else "",
        )  # fmt: skip
        if brokers == JUDGED:
            judgements.append(CAPACITY.judge(rate))
    console().print(table)
    return judgements


if __name__ == "__main__":
    sys.exit(conclude(run(sys.argv[1:])))
