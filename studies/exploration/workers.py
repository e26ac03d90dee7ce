"""Explored runs in processes of their own, one for each processor."""

from __future__ import annotations

import gc
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random

from emulation.simulation.memory import rare_collections
from record.forked_processes import Ended, ForkedProcesses, forked
from scenario.model import Scenario
from studies.exploration.coverage import features_of
from studies.exploration.drawing import Drawing
from studies.exploration.findings import moments_in_words
from studies.exploration.guidance import Guidance
from studies.exploration.judged_run import Defect, JudgingRoom
from studies.exploration.moments import Moment, moments_of
from studies.exploration.mutation import Mutation, Parent
from studies.exploration.shrinking import Shrinking


@dataclass(frozen=True, slots=True, kw_only=True)
class Explored:
    """A run that was explored."""

    number: int
    scenario: Scenario
    defects: tuple[Defect, ...]
    refused: str
    features: frozenset[str]
    """Features of its behaviour (`coverage`)."""
    moments: tuple[Moment, ...]
    processor: float
    """Processor seconds that drawing, running and judging took."""

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of its defects, each once, in order."""
        return tuple(dict.fromkeys(defect.kind for defect in self.defects))


@dataclass(frozen=True, slots=True)
class Suspect:
    """A run to be shrunk, for one kind of defect that it showed."""

    number: int
    kind: str
    scenario: Scenario
    defects: tuple[Defect, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reduced:
    """A suspect and the smallest run that shows its defect."""

    suspect: Suspect
    scenario: Scenario
    defects: tuple[Defect, ...]
    moments: tuple[str, ...]
    """Sentences on the moments of its faults."""
    tries: int
    processor: float
    """Processor seconds that shrinking took."""


def unshrunk(suspect: Suspect) -> Reduced:
    """A suspect as it is, where there is no time to shrink it."""
    return Reduced(
        suspect=suspect, scenario=suspect.scenario, defects=suspect.defects, moments=(), tries=0, processor=0.0
    )


Request = Parent | Suspect | None
"""A run to be changed or one to be shrunk; None for a new run."""


class Explorer:
    """Makes runs by their numbers: the same number, and the same parent, are the same run."""

    def __init__(self, drawing: Drawing, seed: int) -> None:
        self.surroundings = drawing.surroundings
        self._drawing = drawing
        self._seed = seed

    def parent(self, number: int, guidance: Guidance) -> Parent | None:
        """The parent of the run of this number."""
        return guidance.parent(Random(f"{self._seed}:{number}:parent"))

    def explored(self, number: int, room: JudgingRoom, parent: Parent | None = None) -> Explored:
        """Draws the run of this number, or changes its parent, runs and judges it."""
        began, random = time.process_time(), Random(f"{self._seed}:{number}")
        changed = None if parent is None else Mutation(parent, self.surroundings, random).mutated()
        scenario = changed or self._drawing.drawn(random)
        judged = room.judged(scenario)
        return Explored(
            number=number,
            scenario=scenario,
            defects=judged.defects,
            refused=judged.refused,
            features=features_of(judged),
            moments=moments_of(judged.records, judged.begin, random),
            processor=time.process_time() - began,
        )

    def reduced(self, suspect: Suspect, room: JudgingRoom) -> Reduced:
        """Shrinks a suspect. It stays as it is where its defect does not come again."""
        began = time.process_time()
        shrinking = Shrinking(self.surroundings, suspect.kind, room.judged)
        shrunk = shrinking.shrunk(suspect.scenario)
        scenario = suspect.scenario if shrunk is None else shrunk.scenario
        run = None if shrunk is None else shrunk.run
        moments: tuple[str, ...] = ()
        if run is not None:
            moments = tuple(moments_in_words(scenario, moments_of(run.records, run.begin, Random(0))))
        return Reduced(
            suspect=suspect,
            scenario=scenario,
            defects=suspect.defects if run is None else run.defects,
            moments=moments,
            tries=shrinking.tries,
            processor=time.process_time() - began,
        )


class _Worker:
    """A process that explores. It has a room from its first run on."""

    def __init__(self, explorer: Explorer) -> None:
        self._explorer = explorer

    def __call__(self, number: int, connection: Connection) -> Explored | Reduced:
        request: Request = connection.recv()
        with rare_collections():
            if isinstance(request, Suspect):
                return self._explorer.reduced(request, self._room)
            return self._explorer.explored(number, self._room, request)

    @cached_property
    def _room(self) -> JudgingRoom:
        """The room, in which a first run has loaded what is loaded late. The process is killed at its end; its files go
        with the scratch directory of the command."""
        room = JudgingRoom(Path(tempfile.mkdtemp(prefix="explored-")))
        self._explorer.explored(-1, room)
        gc.collect()
        gc.freeze()
        return room


class Workers:
    """Processes that explore, and the numbers of the runs that they are at."""

    def __init__(self, processes: ForkedProcesses[Explored | Reduced]) -> None:
        self._processes = processes

    @property
    def idle(self) -> bool:
        """True while one of them has nothing to do."""
        return bool(self._processes.idle)

    @property
    def busy(self) -> bool:
        """True while one of them is at a run."""
        return bool(self._processes.running)

    def begin(self, number: int, request: Request) -> None:
        """Has an idle one begin the run of this number."""
        connection = self._processes.idle[-1]
        self._processes.begin(number)
        connection.send(request)

    def ended(self, seconds: float) -> Iterator[Explored | Reduced]:
        """Whatever ends within this time. Raises `WorkFailedError` where a process was killed."""
        for _, message in self._processes.receive(seconds):
            assert isinstance(message, Ended)
            yield message.taken()


@contextmanager
def workers(number: int, explorer: Explorer) -> Iterator[Workers]:
    """Processes, which are killed at the end of the block."""
    with forked(number, _Worker(explorer), lambda run: f"explored run {run}") as processes:
        yield Workers(processes)
