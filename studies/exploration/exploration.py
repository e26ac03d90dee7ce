"""One explored run after another, until time or runs are used up, and the account of them."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from record.callbacks import do_nothing
from studies.exploration.findings import Cause, Finding
from studies.exploration.judged_run import Kind
from studies.exploration.mutation import Parent
from studies.exploration.workers import Explored, Explorer, Reduced, Suspect, Workers, unshrunk

FAMILY = 4
"""Runs of which the first is drawn anew, and the others are changes of a run that was drawn."""
LONGEST_SHRINKING = 60.0
"""Seconds for which findings are shrunk after the time is over. A usual one takes ten; one whose every try takes a
router's endless loop takes minutes."""
_LOOK_SECONDS = 0.2
"""Seconds between two looks at whether the user has interrupted."""


@dataclass(slots=True)
class Account:
    """The account of an exploration."""

    runs: int = 0
    refused: int = 0
    """Runs of which the simulator or the protocol refused the scenario."""
    shrinking_runs: int = 0
    """Runs by which findings were shrunk, besides."""
    processor: float = 0.0
    """Processor seconds that all runs took, without those by which findings were shrunk."""
    seconds: float = 0.0
    """Seconds that all commands took which went on with it."""
    seen: Counter[str] = field(default_factory=Counter)
    """The number of runs that showed each feature."""
    kinds: Counter[str] = field(default_factory=Counter)
    """The number of runs that showed each kind of defect."""
    findings: dict[Cause, Finding] = field(default_factory=dict)

    def add(self, explored: Explored) -> Iterable[Suspect]:
        """Adds a run. Returns the defects of it that are to be shrunk: of each kind of defect the first, second,
        fourth, eighth run and so on, so that a frequent one costs little and does not hide others of its kind for ever.
        Of runs that end their process only the first is returned, because they cannot be shrunk and so do not tell
        their causes."""
        self.runs += 1
        self.processor += explored.processor
        self.refused += bool(explored.refused)
        self.seen.update(explored.features)
        self.kinds.update(explored.kinds)
        return [
            Suspect(explored.number, kind, explored.scenario, explored.defects)
            for kind in explored.kinds
            if (number := self.kinds[kind]) == 1 or (number & (number - 1) == 0 and kind != Kind.PROCESS_ENDED)
        ]

    def conclude(self, reduced: Reduced, cause: Cause) -> Finding | None:
        """Adds a shrunk suspect. Returns the finding if no earlier suspect had the same cause."""
        self.shrinking_runs += reduced.tries
        if (known := self.findings.get(cause)) is not None:
            known.seen += 1
            return None
        suspect = reduced.suspect
        found = self.findings[cause] = Finding(
            name=f"finding-{len(self.findings) + 1}",
            cause=cause,
            number=suspect.number,
            scenario=reduced.scenario,
            found=suspect.scenario,
            defects=reduced.defects,
            moments=reduced.moments,
            case=reduced.case,
        )
        return found


@dataclass(frozen=True, slots=True)
class Budget:
    """Bounds of an exploration."""

    seconds: float | None = None
    runs: int | None = None


@dataclass(slots=True)
class Exploration:
    """Explores within a budget. With one worker, what happens depends on the seed and the number of runs alone."""

    explorer: Explorer
    budget: Budget
    account: Account = field(default_factory=Account)
    on_finding: Callable[[Finding], None] = do_nothing
    on_look: Callable[[Account], None] = do_nothing
    """Called several times a second."""
    asked_to_end: Callable[[], bool] = bool
    seconds: float = 0.0
    """Seconds that it has taken, without those of earlier commands."""
    _latest: Parent | None = None
    """The latest run that was drawn anew."""
    _suspects: deque[Suspect] = field(default_factory=deque)
    """Suspects that wait to be shrunk, or are being shrunk."""

    def explore(self, at: Workers) -> None:
        """Explores until the budget is used up and findings are shrunk, or until the user asks to end.

        What is not shrunk by then, or a minute after the time is over, is kept as it is.
        """
        try:
            self._explore(at)
        finally:
            for suspect in self._suspects:
                self._conclude(unshrunk(suspect))

    def _explore(self, at: Workers) -> None:
        began, before = time.monotonic(), self.account.seconds
        number, task, shrinking = self.account.runs, -2, 0
        while True:
            while at.idle and not self.asked_to_end():
                if shrinking < len(self._suspects):
                    at.begin(task, self._suspects[shrinking])
                    shrinking, task = shrinking + 1, task - 1
                elif self._is_over(number):
                    break
                else:
                    at.begin(number, None if is_drawn(number) else self._latest)
                    number += 1
            if not at.busy or self.asked_to_end() or self._is_late:
                return
            for ended in at.ended(_LOOK_SECONDS):
                if isinstance(ended, Explored):
                    self._take(ended)
                else:
                    self._suspects.remove(ended.suspect)
                    shrinking -= 1
                    self._conclude(ended)
            self.seconds = time.monotonic() - began
            self.account.seconds = before + self.seconds
            self.on_look(self.account)

    def _take(self, explored: Explored) -> None:
        if is_drawn(explored.number) and explored.moments:
            self._latest = Parent(explored.scenario, explored.moments)
        self._suspects += self.account.add(explored)

    def _conclude(self, reduced: Reduced) -> None:
        cause = Cause.of(reduced.suspect.kind, reduced.scenario, self.explorer.surroundings)
        found = self.account.conclude(reduced, cause)
        if found is not None:
            self.on_finding(found)

    @property
    def _is_late(self) -> bool:
        """True when not even shrinking goes on."""
        return self.budget.seconds is not None and self.seconds >= self.budget.seconds + LONGEST_SHRINKING

    def _is_over(self, begun: int) -> bool:
        """True when no further run is to begin."""
        seconds, runs = self.budget.seconds, self.budget.runs
        return (seconds is not None and self.seconds >= seconds) or (runs is not None and begun >= runs)


def is_drawn(number: int) -> bool:
    """True for a run that is drawn anew, by its number."""
    return number % FAMILY == 0
