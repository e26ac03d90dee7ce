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
from studies.exploration.guidance import Guidance
from studies.exploration.judged_run import Defect, JudgingRoom
from studies.exploration.moments import Moment, moments_of
from studies.exploration.mutation import Mutation, Parent


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


class Explorer:
    """Makes runs by their numbers: the same number, and the same parent, are the same run."""

    def __init__(self, drawing: Drawing, seed: int) -> None:
        self._drawing = drawing
        self._seed = seed

    def explored(self, number: int, room: JudgingRoom, parent: Parent | None = None) -> Explored:
        """Draws the run of this number, or changes its parent, runs and judges it."""
        began, random = time.process_time(), Random(f"{self._seed}:{number}")
        changed = None if parent is None else Mutation(parent, self._drawing.surroundings, random).mutated()
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

    def parent(self, number: int, guidance: Guidance) -> Parent | None:
        """The parent of the run of this number."""
        return guidance.parent(Random(f"{self._seed}:{number}:parent"))


class _Worker:
    """A process that explores. It has a room from its first run on."""

    def __init__(self, explorer: Explorer) -> None:
        self._explorer = explorer

    def __call__(self, number: int, connection: Connection) -> Explored:
        with rare_collections():
            return self._explorer.explored(number, self._room, connection.recv())

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

    def __init__(self, processes: ForkedProcesses[Explored]) -> None:
        self._processes = processes

    @property
    def idle(self) -> bool:
        """True while one of them has nothing to do."""
        return bool(self._processes.idle)

    @property
    def busy(self) -> bool:
        """True while one of them is at a run."""
        return bool(self._processes.running)

    def begin(self, number: int, parent: Parent | None) -> None:
        """Has an idle one begin the run of this number."""
        connection = self._processes.idle[-1]
        self._processes.begin(number)
        connection.send(parent)

    def ended(self, seconds: float) -> Iterator[Explored]:
        """Runs that end within this time. Raises `WorkFailedError` where a process was killed."""
        for _, message in self._processes.receive(seconds):
            assert isinstance(message, Ended)
            yield message.taken()


@contextmanager
def workers(number: int, explorer: Explorer) -> Iterator[Workers]:
    """Processes, which are killed at the end of the block."""
    with forked(number, _Worker(explorer), lambda run: f"explored run {run}") as processes:
        yield Workers(processes)
