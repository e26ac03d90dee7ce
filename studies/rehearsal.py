"""Rehearsals on the hosts of a run, which choose the time dilation where its scenario leaves it to them (`auto`).

1. The planner (`emulation.prediction`) says which variant needs the largest factor, and which one that is.
2. That variant is deployed as a run of its own, on the host or the hosts of the run: a few seconds of the planned load,
   without faults. Its logs are analysed for the share of the delay for which notifications waited for processors, and
   thrown away.
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
from functools import partial
from pathlib import Path

from rich.console import Console

from analysis.engines import PlainEngine
from analysis.pipeline import analyze
from analysis.tables.summary import VariantSummary
from emulation.host.loop_times import loop_times
from emulation.host.room import Host, this_host
from emulation.planning.calibration import Calibration, load_calibration
from emulation.planning.plan import Plan, VariantPlan, make_plan
from emulation.prediction.predict import DILATIONS, predict
from emulation.run import RunOutcome, emulate
from emulation.run.interrupt import Interrupted
from emulation.runtimes.ladder import Rungs
from record.callbacks import do_nothing
from record.figures import Figure
from record.manifest import ChosenDilation, DilationRehearsal, HostShare
from scenario.model import Scenario

MOST_ROUNDS = 3
REHEARSED = 5.0
"""Seconds of the scenario's run phase that are rehearsed at most."""
_DRAIN = 2.0
MOST_STRAIN = 0.5
"""Share of a figure's limit up to which a dilation is enough: the run differs from its rehearsal."""
_MOST_STEP = 2.0
"""Factor by which the dilation rises at most from one round to the next."""


Rehearse = Callable[[VariantPlan, float], HostShare | None]
"""Rehearses a variant at a dilation. Returns the part of its delays that is the host's, and None where that is not
known; raises `Interrupted` when the user ends it."""


@dataclass(frozen=True, slots=True)
class Rehearsing:
    """The place of rehearsals, and the way to run there."""

    calibration: Calibration
    host: Host
    """The room of the host, or of several together, by which the planner chooses the first factor."""
    rehearse: Rehearse
    say: Callable[[str], None]
    """Shows the user a line about each step."""

    def choose(self, plans: Sequence[Plan]) -> ChosenDilation:
        """The dilation for all variants of plans that are to be compared, of which the user is told.

        Raises `UserError`s, and `Interrupted` when the user ends a rehearsal.
        """
        variant, planned = self._heaviest(plans)
        factor, rounds = planned, list[DilationRehearsal]()
        while True:
            name = f"rehearsal {len(rounds) + 1} of at most {MOST_ROUNDS}"
            self.say(f"{name}: {variant.name} at a dilation of {factor:g}; its logs are thrown away")
            begin = time.monotonic()
            found = self.rehearse(variant, factor)
            seconds = round(time.monotonic() - begin, 1)
            self.say(f"{name}: {'not known' if found is None else found.in_words()}, after {seconds:.0f} s")
            rounds.append(DilationRehearsal(dilation=factor, found=found, seconds=seconds))
            kept = found is not None and found.strain <= MOST_STRAIN
            if not kept and found is not None:
                factor = next_factor(factor, found.strain)
            if kept or found is None or len(rounds) == MOST_ROUNDS:
                break
        chosen = ChosenDilation(factor=factor, variant=variant.name, planned=planned, rehearsals=rounds, kept=kept)
        self.say(f"time_dilation: {chosen.in_words()}")
        return chosen

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


def deployed(deploy: Callable[[Plan, Path], RunOutcome]) -> Rehearse:
    """Rehearsals by runs of their own, of which nothing is left behind.

    `deploy` runs a plan, with its run directory below the given one.
    """

    def rehearse(variant: VariantPlan, factor: float) -> HostShare | None:
        with tempfile.TemporaryDirectory(prefix="rehearsal-") as name:
            directory = Path(name)
            directory.chmod(0o755)  # brokers without root enter it
            outcome = deploy(make_plan(rehearsed_scenario(variant.scenario, factor)), directory)
            if outcome.interrupted:
                raise Interrupted
            (summary,) = analyze(outcome.directory, PlainEngine()).variants
        return host_share(summary)

    return rehearse


def rehearsing_here(rungs: Rungs, console: Console, calibration: Calibration | None = None) -> Rehearsing:
    """Rehearsals on this host's rungs; those of the planner are by `calibration`, the shipped one by default."""

    def deploy(plan: Plan, directory: Path) -> RunOutcome:
        return emulate(plan, rungs, directory, silent(), do_nothing, calibration=calibration)

    costs = (calibration or load_calibration()).on(loop_times())
    return Rehearsing(costs, this_host(), deployed(deploy), sayer(console))


def silent() -> Console:
    """A console that shows nothing, for runs that are rehearsals: their progress would look like that of the run that
    they are for, of which `Rehearsing` tells them apart by lines of its own."""
    return Console(quiet=True, force_terminal=False)


def sayer(console: Console) -> Callable[[str], None]:
    """A function that shows lines on a console as they are."""
    return partial(console.print, markup=False, soft_wrap=True)


def next_factor(factor: float, strain: float) -> float:
    """The next factor to try: the larger the strain, the larger the step."""
    wanted = factor * min(_MOST_STEP, (strain / MOST_STRAIN) ** 0.5)
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


def host_share(summary: VariantSummary) -> HostShare | None:
    """The part of the delays that is the host's, of the figure that it brings closest to its limit.

    Looks at all that the verdict on the run will rest on: the waiting for processors, and what nothing explains, of
    each figure that counts. None where that is not known.
    """
    budget = summary.delay.budget
    waiting = budget.parts.contention_share if budget and budget.notifications else None
    if waiting is None:
        return None
    shares = [HostShare(figure=Figure.MEAN, share=waiting)]
    for found in summary.delay.figures:
        if found.counts and found.share is not None:
            shares.append(HostShare(figure=found.figure, share=found.share))
    return max(shares, key=lambda share: share.strain)
