"""Trials of mutants: each is tried in a calm scenario, and judged only if it does harm there.

1. The calm scenario is run with the mutant. It counts where the clients' notifications differ from the honest run's
   (`harm`); one that fails loudly, or never ends, does not count, because no verdict is needed for that.
2. The verdict on that very run must blame somebody.
3. The same scenario is run with a fault in its last seconds. If the notifications of publications made before the fault
   differ from the honest run's, the verdict on this run must blame somebody, too.
"""

from __future__ import annotations

import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import msgspec

from analysis.tables.summary import BROKER_DEFECT, CORRECT, UNJUDGED
from record.errors import UserError
from record.fidelity import FidelityVerdict
from tests.gauntlet.forks import Forks
from tests.gauntlet.harm import Notifications, begin_of_publishing, promises_order
from tests.gauntlet.mutants import Executed, Mutant, drawn, watched
from tests.gauntlet.running import Verdict, verdict_on
from tests.gauntlet.scenarios import Scenario
from tests.gauntlet.trials import Kind, Outcome, Part, Trial

_ENDS_WITHIN = 15
"""Seconds of processor time after which a run is taken not to end, so that a busy host hunts the same mutants."""
_HONEST_WITHIN = 120.0
"""Seconds that the two honest runs of a scenario may take together."""
_FAULT_AT = 4.5
"""Seconds of the run phase before the fault."""
_MARGIN = 0.5
"""Seconds before the fault whose publications are left out, because they might still have been in flight."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """An honest run of a scenario, and of the same with a fault."""

    calm: Notifications
    before_fault: Notifications
    ordered: bool
    executed: Executed


class Found(msgspec.Struct, frozen=True):
    """A harmful mutant and the verdicts on it."""

    harm: str
    calm: Verdict
    during: Verdict | None
    """Verdict on a run with a fault; None where no harm was done before the fault."""

    @property
    def verdict(self) -> Verdict:
        """The one that did not name the mutant, if one did not."""
        return self.calm if self.during is None or not is_named(self.calm) else self.during


def is_named(verdict: Verdict) -> bool:
    """True when the verdict blames somebody: it found a defect of delivery, or says that the run did not hold."""
    wrong = {*verdict.delivery} - {CORRECT, UNJUDGED}
    return bool(wrong) or verdict.fidelity == FidelityVerdict.INVALID


def hunted(forks: Forks, seed: int, part: Part, wanted: int) -> Iterator[Outcome]:
    """The outcomes of the first `wanted` harmful mutants of a part of those that the seed draws."""
    honest = HonestRuns()
    mutants = drawn(seed, lambda scenario: honest.of(scenario).executed, part)
    trials = ((mutant, partial(_tried, mutant, honest.of(mutant.scenario))) for mutant in mutants)
    for mutant, ended in forks.each(trials):
        if wanted <= 0:
            return
        if (found := ended.result) is not None:
            wanted -= 1
            trial = Trial(
                Kind.MUTANT,
                "mutants",
                f"{mutant.area} {mutant.title}",
                _not_again,
                is_named,
                f"blame, because {found.harm}",
            )
            yield Outcome(trial, found.verdict, ended.failure, ended.seconds)


def _not_again() -> Verdict:
    raise RuntimeError("a mutant is judged where it is hunted")


def faulty(scenario: Scenario) -> Scenario:
    """The scenario with a broker that is killed late in the run phase, and started again."""
    fault = {"at": f"run+{_FAULT_AT}s", "kill": "random", "for": "500ms"}
    return scenario.suffering("a late crash", fault, run="6s")


class HonestRuns:
    """Honest runs of the scenarios in which mutants are tried, each made when a mutant first needs it."""

    def __init__(self) -> None:
        self._made: dict[str, Baseline] = {}

    def of(self, scenario: Scenario) -> Baseline:
        """Raises `RuntimeError` if the honest run fails."""
        if scenario.name not in self._made:
            ((_, ended),) = Forks(1, _HONEST_WITHIN).each([(scenario.name, partial(_baseline, scenario))])
            if ended.result is None:
                raise RuntimeError(f"the honest run of {scenario.name} failed: {ended.failure}")
            self._made[scenario.name] = ended.result
        return self._made[scenario.name]


def _baseline(scenario: Scenario) -> Baseline:
    with tempfile.TemporaryDirectory() as calm, tempfile.TemporaryDirectory() as during:
        lines: dict[str, set[int]] = {}
        with watched(lines):
            first = scenario.run.simulated(Path(calm)).directory
        second = faulty(scenario).run.simulated(Path(during)).directory
        executed = {module: frozenset(found) for module, found in lines.items()}
        return Baseline(Notifications.of(first), _before_fault(second), promises_order(first), executed)


def _tried(mutant: Mutant, honest: Baseline) -> Found | None:
    """Tries a mutant in this process, which is of no use for anything else afterwards. None for one that does no harm,
    or fails loudly."""
    try:
        with _time_limit(_ENDS_WITHIN):
            mutant.install()
            return _judged(mutant.scenario, honest)
    except Exception:
        return None


def _judged(scenario: Scenario, honest: Baseline) -> Found | None:
    with tempfile.TemporaryDirectory() as out:
        outcome = scenario.run.simulated(Path(out))
        if outcome.defect:
            return None
        harm = Notifications.of(outcome.directory).harm(honest.calm, ordered=honest.ordered)
        if not harm:
            return None
        calm = verdict_on(outcome)
    if BROKER_DEFECT in calm.delivery:
        return None
    return Found(harm, calm, _during(faulty(scenario), honest))


def _during(scenario: Scenario, honest: Baseline) -> Verdict | None:
    with tempfile.TemporaryDirectory() as out:
        try:
            outcome = scenario.run.simulated(Path(out))
        except UserError:
            return None
        if outcome.defect or not _before_fault(outcome.directory).harm(honest.before_fault, ordered=honest.ordered):
            return None
        return verdict_on(outcome)


def _before_fault(run: Path) -> Notifications:
    fault = begin_of_publishing(run) + round((_FAULT_AT - _MARGIN) * 1e9)
    return Notifications.of(run, until=fault)


@contextmanager
def _time_limit(seconds: int) -> Iterator[None]:
    """Raises `TimeoutError` in this process when its work takes more processor time."""

    def over(number: int, frame: object) -> None:
        raise TimeoutError

    signal.signal(signal.SIGPROF, over)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
