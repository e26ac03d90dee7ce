"""Predicted against measured: processors, contention, memory and log records of real runs, for five shipped scenarios.

Each scenario is predicted as `brokerlab check` does it, then run in containers and analysed; the run phase is cut to
`SECONDS`, which changes neither. A prediction holds within 30% of the measured value, or within 2% of the figure that
it is a share of: all processors, or the mean delay of the notifications whose ways are logged. To be run on a host that
does nothing else: the share of processors is of the run alone, and contention and memory are not, so they are not
compared where other programs took much of the processors meanwhile.

    python -m benchmarks.planning                          about 8 minutes
    python -m benchmarks.planning --scenarios smoke --seconds 8
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from analysis.engines import PlainEngine
from analysis.pipeline import analyze
from analysis.tables.summary import VariantSummary
from benchmarks.targets import Bound, Judgement, Target, conclude, console
from emulation.host.loop_times import loop_times
from emulation.host.room import this_host
from emulation.planning.calibration import load_calibration
from emulation.planning.plan import make_plan
from emulation.prediction.predict import VariantPrediction, predict
from emulation.run import emulate
from emulation.runtimes.ladder import AUTO, Simulated, choose
from record.callbacks import do_nothing
from record.errors import HostError
from record.fidelity import VariantFidelity
from record.slower_run import others_took_much
from scenario.loading import load

SCENARIOS = ("smoke", "quickstart", "cyclic-30", "semi-30", "composite")
SECONDS = 15.0
NEAR = 0.3
"""Share of the measured value by which a prediction may miss it."""
NEAR_FIGURE = 0.02
"""Share of the figure by which it may miss it besides."""
_LOOK = 0.5
_HOLDS = {True: "yes", False: "NO"}

TARGET = Target("predictions outside of 30% and 2% of the figure", Bound.AT_MOST, 0.0)
COMPARED = Target("figures that could not be measured, or not apart from other programs", Bound.AT_MOST, 0.0)


@dataclass(frozen=True, slots=True)
class Compared:
    """One figure, predicted and measured."""

    subject: str
    predicted: float
    measured: float | None
    """Measured value; None where it could not be measured, so that nothing is compared."""
    whole: float = 1.0
    """Size of the whole, which 2% refer to."""

    @property
    def holds(self) -> bool:
        if self.measured is None:
            return True
        return abs(self.predicted - self.measured) <= max(NEAR * abs(self.measured), NEAR_FIGURE * self.whole)


def compared(predicted: VariantPrediction, judged: VariantFidelity, summary: VariantSummary) -> Iterator[Compared]:
    """The figures of one variant."""
    busy = None if judged.processors is None else judged.processors.share
    yield Compared("processors", predicted.load.processors, busy)
    budget = None if others_took_much(judged.processors) else summary.delay.budget
    share = budget.parts.contention_share if budget and budget.notifications else None
    yield Compared("contention's share of the delay", predicted.load.share, share)


class _Memory:
    """The most memory that was taken from the host while it is entered."""

    def __init__(self) -> None:
        self._before = this_host().memory
        self._least = self._before

    @property
    def taken(self) -> int:
        return self._before - self._least

    @contextmanager
    def watched(self) -> Iterator[None]:
        over = threading.Event()

        def look() -> None:
            while not over.wait(_LOOK):
                self._least = min(self._least, this_host().memory)

        looker = threading.Thread(target=look, daemon=True)
        looker.start()
        try:
            yield
        finally:
            over.set()
            looker.join()


def measure(name: str, seconds: float, screen: Console) -> list[tuple[str, Compared]]:
    """Predicts and runs a shipped scenario. Raises `UserError`s."""
    overrides = {"timeline.run": f"{seconds}s", "time_dilation": "1"}
    plan = make_plan(load(Path(f"scenarios/{name}.yaml"), overrides))
    predictions = {found.name: found for found in predict(plan, load_calibration().on(loop_times()), this_host())}
    rungs = choose(AUTO, AUTO, do_nothing)
    if isinstance(rungs, Simulated):
        raise HostError(f"brokers cannot run here: {rungs.runtime.reason}")
    memory = _Memory()
    with tempfile.TemporaryDirectory(prefix="brokerlab-planning-") as out:
        Path(out).chmod(0o755)
        with memory.watched():
            outcome = emulate(plan, rungs, Path(out), screen, do_nothing)
        summary = analyze(outcome.directory, PlainEngine())
    rows = [
        (f"{name} {variant.name}", row)
        for variant in summary.variants
        if (judged := outcome.fidelity.of(variant.name)) is not None
        for row in compared(predictions[variant.name], judged, variant)
    ]
    largest = max(found.memory for found in predictions.values())
    alone = not any(others_took_much(judged.processors) for judged in outcome.fidelity.variants)
    taken = memory.taken / 1e9 if alone else None
    return [*rows, (name, Compared("memory, GB", largest / 1e9, taken, this_host().memory / 1e9))]


def run(arguments: Sequence[str]) -> list[Judgement]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scenarios", nargs="+", choices=SCENARIOS, default=SCENARIOS, help="names in scenarios/")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="length of the run phase")
    options = parser.parse_args(arguments)
    screen = console()
    table = Table("run", "figure", "predicted", "measured", "holds", title="predicted against measured")
    missed = not_compared = 0
    for name in options.scenarios:
        for where, row in measure(name, options.seconds, screen):
            missed += not row.holds
            not_compared += row.measured is None
            measured, holds = ("not known", "") if row.measured is None else (f"{row.measured:.3f}", _HOLDS[row.holds])
            table.add_row(where, row.subject, f"{row.predicted:.3f}", measured, holds)
    screen.print(table)
    return [TARGET.judge(missed), COMPARED.judge(not_compared)]


if __name__ == "__main__":
    sys.exit(conclude(run(sys.argv[1:])))
