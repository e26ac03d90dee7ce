"""Explored runs in processes of their own, one for each processor."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random

from analysis.tables.deliveries import Defect as Violation
from broker_service.routing.failures import allow_calls
from emulation.simulation.memory import rare_collections
from record.errors import UserError
from record.forked_processes import Ended, ForkedProcesses, WorkFailedError, forked
from record.scratch import remove_stale_scratch, scratch_of_program
from scenario.model import Scenario
from studies.exploration.cases import failing_case
from studies.exploration.coverage import features_of
from studies.exploration.drawing import Drawing
from studies.exploration.findings import moments_in_words
from studies.exploration.judged_run import Defect, JudgingRoom, Kind
from studies.exploration.moments import Moment, moments_of
from studies.exploration.mutation import Mutation, Parent
from studies.exploration.shrinking import Shrinking

LONGEST_CALL = 5.0
"""Seconds that a call of a router may take. Those of such small runs take a thousandth of it."""
_MEMORY = Path("/dev/shm")  # noqa: S108 - a scratch directory is made in it, with a name of its own
"""The file system in memory of Linux."""
_ROOM = 1 << 30
"""Bytes that have to be free there: more than any run may write, for each of many workers."""


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
    """Moments of a run that was drawn anew, which its changes need; none of a changed one."""
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
    case: str
    """The text of a conformance case that fails; empty where there is none."""
    tries: int


def unshrunk(suspect: Suspect) -> Reduced:
    """A suspect as it is, where there is no time to shrink it."""
    return Reduced(suspect=suspect, scenario=suspect.scenario, defects=suspect.defects, moments=(), case="", tries=0)


Request = Parent | Suspect | None
"""A run to be changed or one to be shrunk; None for a new run."""


class Explorer:
    """Makes runs by their numbers: the same number, and the same parent, are the same run."""

    def __init__(self, drawing: Drawing, seed: int) -> None:
        self.surroundings = drawing.surroundings
        self._drawing = drawing
        self._seed = seed

    def explored(self, number: int, room: JudgingRoom, parent: Parent | None = None) -> Explored:
        """Draws the run of this number, or changes its parent, runs and judges it."""
        began, random = time.process_time(), Random(f"{self._seed}:{number}")
        scenario = self._scenario(parent, random)
        judged = room.judged(scenario)
        return Explored(
            number=number,
            scenario=scenario,
            defects=judged.defects,
            refused=judged.refused,
            features=features_of(judged),
            moments=moments_of(judged.records, judged.begin, random) if parent is None else (),
            processor=time.process_time() - began,
        )

    def unfinished(self, number: int, parent: Parent | None, reason: str) -> Explored:
        """The run of this number, which ended the process that simulated it."""
        return Explored(
            number=number,
            scenario=self._scenario(parent, Random(f"{self._seed}:{number}")),
            defects=(Defect(Kind.PROCESS_ENDED, reason),),
            refused="",
            features=frozenset(),
            moments=(),
            processor=0.0,
        )

    def _scenario(self, parent: Parent | None, random: Random) -> Scenario:
        changed = None if parent is None else Mutation(parent, self.surroundings, random).mutated()
        return changed or self._drawing.drawn(random)

    def reduced(self, suspect: Suspect, room: JudgingRoom) -> Reduced:
        """Shrinks a suspect. It stays as it is where its defect does not come again."""
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
            case="" if run is None else self._case(suspect, scenario, room),
            tries=shrinking.tries,
        )

    def _case(self, suspect: Suspect, scenario: Scenario, room: JudgingRoom) -> str:
        """The case of a finding on deliveries; none where the run cannot be judged."""
        if suspect.kind not in set(Violation):
            return ""
        try:
            name = f"explored-{self._seed}-{suspect.number}"
            return failing_case(scenario, name, suspect.kind, room.expectations(scenario))
        except UserError:
            return ""


class _Worker:
    """A process that explores. It has a room from its first run on."""

    def __init__(self, explorer: Explorer, directory: Path) -> None:
        """`directory` is for the files of runs."""
        self._explorer = explorer
        self._directory = directory
        self.warm = True
        """False for processes that begin with the run that they are given, so that whatever ends them is that run."""

    def __call__(self, number: int, connection: Connection) -> Explored | Reduced:
        request: Request = connection.recv()
        with rare_collections():
            if isinstance(request, Suspect):
                return self._explorer.reduced(request, self._room)
            return self._explorer.explored(number, self._room, request)

    @cached_property
    def _room(self) -> JudgingRoom:
        """The room, in which a first run has loaded what is loaded late, where the process is warm."""
        allow_calls(LONGEST_CALL)
        room = JudgingRoom(self._directory)
        if self.warm:
            self._explorer.explored(-1, room)
        gc.collect()
        gc.freeze()
        return room


class Workers:
    """Processes that explore, and the numbers of the runs that they are at."""

    def __init__(self, processes: ForkedProcesses[Explored | Reduced], worker: _Worker, explorer: Explorer) -> None:
        self._processes = processes
        self._worker = worker
        self._explorer = explorer
        self._requests: dict[int, Request] = {}
        """Requests that are worked at, by the numbers of their runs."""
        self._again: set[int] = set()
        """Runs that have ended a process once."""

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
        self._requests[number] = request
        connection = self._processes.idle[-1]
        self._processes.begin(number)
        connection.send(request)

    def ended(self, seconds: float) -> Iterator[Explored | Reduced]:
        """Results within this time. A run that ends its process is begun once more, because memory may have been
        short, and has ended when it ends another one."""
        try:
            for number, message in self._processes.receive(seconds):
                assert isinstance(message, Ended)
                self._forget(number)
                yield message.taken()
        except WorkFailedError as error:
            (number,) = self._requests.keys() - self._processes.running
            yield from self._repeated(number, str(error))

    def _repeated(self, number: int, reason: str) -> Iterator[Explored | Reduced]:
        """Begins a run once more that has ended its process, in a new one."""
        self._worker.warm = False
        self._processes.start()
        request = self._requests[number]
        if number not in self._again:
            self._again.add(number)
            self.begin(number, request)
            return
        self._forget(number)
        yield unshrunk(request) if isinstance(request, Suspect) else self._explorer.unfinished(number, request, reason)

    def _forget(self, number: int) -> None:
        del self._requests[number]
        self._again.discard(number)


@contextmanager
def workers(number: int, explorer: Explorer) -> Iterator[Workers]:
    """Processes, which are killed at the end of the block. Their files are in memory where there is room."""
    remove_stale_scratch(_MEMORY)
    parent = _MEMORY if _has_room(_MEMORY) else None
    with scratch_of_program("explored", parent) as (directory, _):
        worker = _Worker(explorer, directory)
        with forked(number, worker, lambda run: f"explored run {run}") as processes:
            yield Workers(processes, worker, explorer)


def _has_room(directory: Path) -> bool:
    """True where files of runs may be written to a directory."""
    try:
        room = os.statvfs(directory)
    except OSError:
        return False
    return os.access(directory, os.W_OK) and room.f_bavail * room.f_frsize >= _ROOM
