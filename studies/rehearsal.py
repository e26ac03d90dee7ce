"""Rehearsals on this host, which choose the time dilation of runs whose scenario leaves it to them (`auto`).

1. The planner (`emulation.prediction`) says which variant needs the largest factor, and which one that is.
2. That variant is deployed as a run of its own: a few seconds of the planned load, without faults. Its logs are
   analysed for the share of the delay for which notifications waited for processors, and thrown away.
3. The factor rises from the planner's until the share is small enough, in three rounds at most: a rehearsal that is
   overloaded cannot tell the factor that it needs.

All variants get the same factor, because a dilation makes brokers faster beside everything else. The verdict on the run
itself has the last word.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from analysis.engines import PlainEngine
from analysis.pipeline import analyze
from analysis.tables.summary import VariantSummary
from emulation.host.reference_loops import loop_times
from emulation.planning.calibration import Calibration, load_calibration
from emulation.planning.carrying import Host, this_host
from emulation.planning.plan import Plan, VariantPlan, make_plan
from emulation.prediction.predict import DILATIONS, MOST_CONTENTION, predict
from emulation.run import RunOutcome, emulate
from emulation.run.interrupt import Interrupted
from emulation.runtimes.ladder import Rungs
from record.callbacks import do_nothing
from record.manifest import ChosenDilation, DilationRehearsal
from scenario.model import Scenario

MOST_ROUNDS = 3
REHEARSED = 5.0
"""Seconds of the scenario's run phase that are rehearsed at most."""
_DRAIN = 2.0
_MOST_STEP = 2.0
"""Factor by which the dilation rises at most from one round to the next."""


@dataclass(frozen=True, slots=True)
class Rehearsing:
    """The host of rehearsals, and the way to run on it."""

    calibration: Calibration
    host: Host
    deploy: Callable[[Plan, Path], RunOutcome]
    """Runs a plan, with its run directory below the given one."""
    say: Callable[[str], None]
    """Shows the user a line about each step."""

    def choose(self, plans: Sequence[Plan]) -> ChosenDilation:
        """The dilation for all variants of plans that are to be compared.

        Raises `UserError`s, and `Interrupted` when the user ends a rehearsal.
        """
        variant, planned = self._heaviest(plans)
        factor, rounds = planned, list[DilationRehearsal]()
        while True:
            self.say(f"rehearsing {variant.name} at a dilation of {factor:g}; its logs are thrown away")
            rounds.append(self._rehearsed(variant, factor))
            share = rounds[-1].contention
            kept = share is not None and share <= MOST_CONTENTION
            if not kept and share is not None:
                factor = next_factor(factor, share)
            if kept or share is None or len(rounds) == MOST_ROUNDS:
                break
        return ChosenDilation(factor=factor, variant=variant.name, planned=planned, rehearsals=rounds, kept=kept)

    def _heaviest(self, plans: Sequence[Plan]) -> tuple[VariantPlan, float]:
        """The variant that needs the largest factor, and that factor by the planner."""
        self.say("time_dilation: auto: predicting the load of every variant")
        needs = [
            (found.least.dilation, found.load.processors, variant)
            for plan in plans
            for found, variant in zip(predict(plan, self.calibration, self.host), plan.variants, strict=True)
        ]
        factor, _, variant = max(needs, key=lambda need: need[:2])
        return variant, factor

    def _rehearsed(self, variant: VariantPlan, factor: float) -> DilationRehearsal:
        """Rehearses a variant, and leaves nothing behind."""
        begin = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="rehearsal-") as name:
            directory = Path(name)
            directory.chmod(0o755)  # brokers without root enter it
            outcome = self.deploy(make_plan(rehearsed_scenario(variant.scenario, factor)), directory)
            if outcome.interrupted:
                raise Interrupted
            (summary,) = analyze(outcome.directory, PlainEngine()).variants
        seconds = round(time.monotonic() - begin, 1)
        return DilationRehearsal(dilation=factor, contention=contention_share(summary), seconds=seconds)


def choose_dilation(
    plans: Sequence[Plan], rungs: Rungs, console: Console, calibration: Calibration | None = None
) -> ChosenDilation:
    """The dilation for all variants of plans that are to be compared, by rehearsals on this host's rungs,
    of which the planner's are by `calibration`, the shipped one by default.

    Raises as `Rehearsing.choose`.
    """

    def say(line: str) -> None:
        console.print(line, markup=False, soft_wrap=True)

    def deploy(plan: Plan, directory: Path) -> RunOutcome:
        return emulate(plan, rungs, directory, console, do_nothing, calibration=calibration)

    costs = (calibration or load_calibration()).on(loop_times())
    chosen = Rehearsing(costs, this_host(), deploy, say).choose(plans)
    say(f"time_dilation: {chosen.in_words()}")
    return chosen


def next_factor(factor: float, share: float) -> float:
    """The next factor to try: the larger the share, the larger the step."""
    wanted = factor * min(_MOST_STEP, (share / MOST_CONTENTION) ** 0.5)
    return next((tried for tried in DILATIONS if tried > factor and tried >= wanted), factor * _MOST_STEP)


def rehearsed_scenario(scenario: Scenario, factor: float) -> Scenario:
    """The scenario of a rehearsal: the beginning of the run phase, in calm weather and with whole logs."""
    timeline = scenario.timeline
    shorter = timeline.model_copy(
        update={"run": min(timeline.run, REHEARSED), "drain": min(timeline.drain, _DRAIN), "withdraw": None}
    )
    return scenario.model_copy(
        update={
            "name": "rehearsal", "timeline": shorter, "time_dilation": factor,
            "vary": {}, "faults": (), "logs": None, "expect": None,
        }
    )  # fmt: skip


def contention_share(summary: VariantSummary) -> float | None:
    """The share of the delays for which notifications waited for processors; None where that is not known."""
    if not summary.delay.budget or not summary.delay.budget.notifications:
        return None
    parts = summary.delay.budget.parts
    return None if parts.contention_ms is None or parts.delay_ms <= 0 else parts.contention_ms / parts.delay_ms
