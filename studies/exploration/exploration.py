"""One explored run after another, until time or runs are used up, and the account of them."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from record.callbacks import do_nothing
from scenario.model import Scenario
from studies.exploration.guidance import ByCoverage, Guidance
from studies.exploration.judged_run import Defect
from studies.exploration.mutation import Parent
from studies.exploration.workers import Explored, Explorer, Workers

_LOOK_SECONDS = 0.2
"""Seconds between two looks at whether the user has interrupted."""


@dataclass(slots=True)
class Finding:
    """Runs with the same kinds of defects, of which the first is kept."""

    name: str
    kinds: tuple[str, ...]
    number: int
    """The number of the run."""
    scenario: Scenario
    defects: tuple[Defect, ...]
    seen: int = 1
    """The number of runs that showed them."""


@dataclass(slots=True)
class Account:
    """The account of an exploration."""

    runs: int = 0
    refused: int = 0
    """Runs of which the simulator or the protocol refused the scenario."""
    processor: float = 0.0
    """Processor seconds that all runs took."""
    seen: Counter[str] = field(default_factory=Counter)
    """The number of runs that showed each feature."""
    findings: dict[tuple[str, ...], Finding] = field(default_factory=dict)

    def add(self, explored: Explored) -> Finding | None:
        """Takes note of a run. Returns what it is the first to show, if anything."""
        self.runs += 1
        self.processor += explored.processor
        self.refused += bool(explored.refused)
        self.seen.update(explored.features)
        if not explored.kinds:
            return None
        known = self.findings.get(explored.kinds)
        if known is not None:
            known.seen += 1
            return None
        name = f"finding-{len(self.findings) + 1}"
        found = Finding(name, explored.kinds, explored.number, explored.scenario, explored.defects)
        self.findings[explored.kinds] = found
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
    guidance: Guidance = field(default_factory=ByCoverage)
    account: Account = field(default_factory=Account)
    on_finding: Callable[[Finding], None] = do_nothing
    on_look: Callable[[Account], None] = do_nothing
    """Called several times a second."""
    asked_to_end: Callable[[], bool] = bool
    seconds: float = 0.0
    """Seconds that it has taken."""

    def explore(self, at: Workers) -> None:
        """Raises `WorkFailedError` where a worker was killed."""
        began, number = time.monotonic(), 0
        while True:
            while at.idle and not self._is_over(number) and not self.asked_to_end():
                at.begin(number, self.explorer.parent(number, self.guidance))
                number += 1
            if not at.busy or self.asked_to_end():
                return
            for explored in at.ended(_LOOK_SECONDS):
                if not explored.refused:
                    self.guidance.note(Parent(explored.scenario, explored.moments), explored.features)
                found = self.account.add(explored)
                if found is not None:
                    self.on_finding(found)
            self.seconds = time.monotonic() - began
            self.on_look(self.account)

    def _is_over(self, begun: int) -> bool:
        """True when no further run is to begin."""
        seconds, runs = self.budget.seconds, self.budget.runs
        return (seconds is not None and self.seconds >= seconds) or (runs is not None and begun >= runs)
