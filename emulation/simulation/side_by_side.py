"""Variants of a simulated run side by side, in processes of their own.

Processes are forked before this one has threads, and know the plan from then on. They take one variant after another,
each with logs in a folder of its own. What a variant shows and logs waits until all variants before it are done. So a
run prints the same lines and has the same files, byte for byte, however many processes ran it.
"""

from __future__ import annotations

import shutil
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from pathlib import Path

from emulation.fidelity import Measurements
from emulation.host.run_paths import RunPaths
from emulation.run.context import EMULATOR_LOG, RunContext, open_log
from emulation.run.interrupt import Interrupt
from emulation.run.progress import Snapshot
from emulation.run.variants import Turn
from emulation.simulation.memory import rare_collections
from record import manifest
from record.errors import ProtocolCodeError
from record.files import LOADS, log_files
from record.forked_processes import Ended, ForkedProcesses, WorkFailedError, forked, picklable
from record.manifest import Manifest, VariantRecord

RunTurns = Callable[[RunContext, Iterable[Turn]], list[Measurements]]
"""Runs variants one after another."""

_LOOK_SECONDS = 0.1
"""Seconds between two looks at whether the user has interrupted."""


@dataclass(frozen=True, slots=True)
class _Look:
    """A variant in progress, as the display is to show it."""

    snapshot: Snapshot
    clock: float


@dataclass(frozen=True, slots=True)
class _VariantEnd:
    """A variant that has ended: its part of the manifest, its measurements, and the error that ended it early."""

    records: list[VariantRecord]
    measured: list[Measurements]
    interrupted: bool
    error: Exception | None

    @property
    def is_last(self) -> bool:
        """True where a run ends with this variant, even if others follow in the plan."""
        return bool(self.interrupted or self.error or any(measured.defect for measured in self.measured))


@contextmanager
def side_by_side(
    processes: int, paths: RunPaths, record: Manifest, turns: Sequence[Turn], run: RunTurns
) -> Iterator[SideBySide]:
    """Starts processes that run variants by `run`, and ends all of them at the end of the block.

    What they wrote that is not part of the run is removed.
    """
    turns = [replace(turn, left=max(turn.variant.lasts, turn.left / processes)) for turn in turns]
    variants = _Variants(paths, record, turns, run)
    with rare_collections():
        try:
            with forked(processes, variants, variants.name) as workers:
                yield SideBySide(paths, turns, workers)
        finally:
            shutil.rmtree(_folder(paths), ignore_errors=True)


class SideBySide:
    """The variants of a run, some of which run at a time. The first begin at once."""

    def __init__(self, paths: RunPaths, turns: Sequence[Turn], workers: ForkedProcesses[_VariantEnd]) -> None:
        self._paths = paths
        self._turns = turns
        self._waiting = iter(turns)
        self._workers = workers
        self._shown: defaultdict[int, list[_Look | str]] = defaultdict(list)
        """Messages of each variant for the display, by its number. They wait for the variants before it."""
        self._ended: dict[int, _VariantEnd] = {}
        self._ending = False
        """True once no further variant is to begin."""
        self._begin()

    def run(self, context: RunContext) -> list[Measurements]:
        """The measurements of all variants that ran, in order; their records are in the manifest then.

        Raises the error of the first variant that failed, `WorkFailedError` where a process was killed, and
        `ProtocolCodeError` where a process ended by itself.
        """
        measurements: list[Measurements] = []
        for turn in self._turns:
            ended = self._awaited(turn, context)
            if ended is None:
                break
            _join(self._paths, _own_paths(self._paths, turn), turn.number)
            context.manifest.variants += ended.records
            context.manifest.interrupted |= ended.interrupted
            manifest.write(context.manifest, self._paths.directory)
            measurements += ended.measured
            if ended.error is not None:
                raise ended.error
            if ended.is_last and not ended.interrupted:
                break
        return measurements

    def _awaited(self, turn: Turn, context: RunContext) -> _VariantEnd | None:
        """Shows a variant until it has ended; None if it never began, because the user interrupted before."""
        shown = self._shown[turn.number]
        while True:
            if not context.manifest.interrupted:
                for message in shown:
                    _show(context, message)
            shown.clear()
            if turn.number in self._ended:
                return self._ended.pop(turn.number)
            if turn.number not in self._workers.running:
                return None
            if context.interrupt.asked and not self._ending:
                self._ending = True
                self._workers.ask_to_end()
            self._receive()

    def _receive(self) -> None:
        running = self._workers.running
        try:
            for number, message in self._workers.receive(_LOOK_SECONDS):
                if isinstance(message, Ended):
                    ended: _VariantEnd = message.taken()
                    self._ended[number] = ended
                    self._ending |= ended.is_last
                else:
                    _wait_in(self._shown[number], message)
        except WorkFailedError as error:
            if error.killed:
                raise
            (number,) = running - self._workers.running - self._ended.keys()
            protocol = self._turns[number - 1].variant.scenario.routing.protocol
            raise ProtocolCodeError(f"broker defect: {error}; code of the protocol {protocol} ended it") from error
        self._begin()

    def _begin(self) -> None:
        while self._workers.idle and not self._ending and (turn := next(self._waiting, None)):
            self._workers.begin(turn.number)


@dataclass(frozen=True, slots=True)
class _Variants:
    """The variants of a run, for a process that was forked and knows all that was known before."""

    paths: RunPaths
    record: Manifest
    turns: Sequence[Turn]
    run: RunTurns

    def name(self, number: int) -> str:
        return f"variant {self._turn(number).variant.name}"

    def __call__(self, number: int, connection: Connection) -> _VariantEnd:
        """Runs a variant. An error ends the run, with that of the variant which comes first."""
        turn = self._turn(number)
        own = _own_paths(self.paths, turn)
        snapshot = Snapshot(variants=len(self.turns), speed=0.0)
        measured: list[Measurements] = []
        record = Manifest(**{name: getattr(self.record, name) for name in self.record.__struct_fields__})
        record.variants = []
        error: Exception | None = None
        try:
            own.logs.mkdir(parents=True)
            context = RunContext(
                paths=own,
                manifest=record,
                snapshot=snapshot,
                display=_Told(snapshot, connection),
                interrupt=_ToldToEnd(connection),
                log=open_log(own),
                clock=lambda: 0,
            )
            measured = self.run(context, [turn])
        except Exception as raised:
            error = picklable(raised)
        return _VariantEnd(record.variants, measured, record.interrupted, error)

    def _turn(self, number: int) -> Turn:
        return self.turns[number - 1]


class _Told:
    """A display in another process."""

    def __init__(self, snapshot: Snapshot, connection: Connection) -> None:
        self._snapshot = snapshot
        self._connection = connection

    def refresh(self) -> None:
        self._connection.send(_Look(replace(self._snapshot, clock=time.monotonic), self._snapshot.clock()))

    def print_line(self, line: str) -> None:
        self._connection.send(line)


class _ToldToEnd(Interrupt):
    """The interrupt of another process: it sends a message while a variant runs."""

    def __init__(self, connection: Connection) -> None:
        super().__init__()
        self._connection = connection

    @property
    def asked(self) -> bool:
        return self._connection.poll()


def _wait_in(shown: list[_Look | str], message: _Look | str) -> None:
    """Adds a message. It replaces a look at the same phase before it, because the last one is enough."""
    match shown[-1:], message:
        case [_Look(before)], _Look(now) if before.phase == now.phase:
            shown[-1] = message
        case _:
            shown.append(message)


def _show(context: RunContext, message: _Look | str) -> None:
    if isinstance(message, str):
        context.display.print_line(message)
        return
    context.snapshot.become(message.snapshot)
    context.snapshot.clock = lambda: message.clock
    context.display.refresh()


def _folder(paths: RunPaths) -> Path:
    return paths.directory / "variants"


def _own_paths(paths: RunPaths, turn: Turn) -> RunPaths:
    return replace(paths, directory=_folder(paths) / str(turn.number))


def _join(paths: RunPaths, own: RunPaths, number: int) -> None:
    """Appends the logs of the variant of a number to those of the run, and puts its load beside those of others.
    Raises `OSError`."""
    for log in log_files(own.logs):
        _append(log, paths.logs / log.name)
    for load in (own.directory / LOADS).glob("*"):  # one, or none of a variant that ended before it was planned
        (paths.directory / LOADS).mkdir(exist_ok=True)
        load.rename(paths.directory / LOADS / f"{number}.json")
    _append(own.directory / EMULATOR_LOG, paths.directory / EMULATOR_LOG)


def _append(log: Path, to: Path) -> None:
    if not to.exists():
        log.rename(to)
        return
    with log.open("rb") as read, to.open("ab") as written:
        shutil.copyfileobj(read, written, 1 << 20)
    log.unlink()
