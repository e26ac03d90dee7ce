"""Variants of a simulated run side by side, in processes of their own.

Processes are forked before this one has threads, and know the plan from then on. They take one variant after another,
each with logs in a folder of its own. What a variant shows and logs waits until all variants before it are done. So a
run prints the same lines and has the same files, byte for byte, however many processes ran it.

A process that this one ends is killed: it owns nothing but that folder, which is removed.
"""

from __future__ import annotations

import multiprocessing
import pickle
import shutil
import signal
import threading
import time
import traceback
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess
from pathlib import Path

from emulation.fidelity import Measurements
from emulation.host.run_paths import RunPaths
from emulation.host.signals import ASKING_TO_END
from emulation.host.worker_processes import WorkFailedError, end_with_parent
from emulation.run.context import EMULATOR_LOG, RunContext, open_log
from emulation.run.interrupt import Interrupt
from emulation.run.progress import Snapshot
from emulation.run.variants import Turn
from emulation.simulation.memory import rare_collections
from record import manifest
from record.errors import UserError
from record.files import log_files
from record.manifest import Manifest, VariantRecord

RunTurns = Callable[[RunContext, Iterable[Turn]], list[Measurements]]
"""Runs variants one after another."""

_FORK = multiprocessing.get_context("fork")
_LOOK_SECONDS = 0.1
"""Seconds between two looks at whether the user has interrupted."""


@dataclass(frozen=True, slots=True)
class _Look:
    """A variant in progress, as the display is to show it."""

    snapshot: Snapshot
    clock: float


@dataclass(frozen=True, slots=True)
class _Ended:
    """A variant that has ended: its part of the manifest, its measurements, and the error that ended it early."""

    records: list[VariantRecord]
    measured: list[Measurements]
    interrupted: bool
    error: BaseException | None

    @property
    def is_last(self) -> bool:
        """True where a run ends with this variant, even if others follow in the plan."""
        return bool(self.interrupted or self.error or any(measured.defect for measured in self.measured))


@contextmanager
def side_by_side(
    processes: int, paths: RunPaths, record: Manifest, turns: Sequence[Turn], run: RunTurns
) -> Iterator[SideBySide]:
    """Starts processes that run variants by `run`, and ends all of them at the end of the block."""
    turns = [replace(turn, left=max(turn.variant.lasts, turn.left / processes)) for turn in turns]
    with rare_collections():
        beside = SideBySide(paths, turns)
        try:
            for _ in range(processes):
                beside.start(_Worker(paths, record, turns, run))
            yield beside
        finally:
            beside.end()


class SideBySide:
    """The variants of a run, some of which run at a time."""

    def __init__(self, paths: RunPaths, turns: Sequence[Turn]) -> None:
        self._paths = paths
        self._turns = turns
        self._waiting = iter(turns)
        self._processes: list[ForkProcess] = []
        self._running: dict[Connection, tuple[ForkProcess, Turn]] = {}
        self._shown: defaultdict[int, list[_Look | str]] = defaultdict(list)
        """Messages of each variant for the display, by its number. They wait for the variants before it."""
        self._ended: dict[int, _Ended] = {}
        self._ending = False
        """True once no further variant is to begin."""

    def start(self, worker: _Worker) -> None:
        """Forks a process, which begins with the next variant."""
        here, there = _FORK.Pipe()
        process = _FORK.Process(target=worker.serve, args=(there,), daemon=True)
        process.start()
        there.close()
        self._processes.append(process)
        self._assign(here, process)

    def run(self, context: RunContext) -> list[Measurements]:
        """The measurements of all variants that ran, in order; their records are in the manifest then.

        Raises the error of the first variant that failed, and `WorkFailedError` where a process was killed.
        """
        measurements: list[Measurements] = []
        for turn in self._turns:
            ended = self._awaited(turn, context)
            if ended is None:
                break
            _join(self._paths, _own_paths(self._paths, turn))
            context.manifest.variants += ended.records
            context.manifest.interrupted |= ended.interrupted
            manifest.write(context.manifest, self._paths.directory)
            measurements += ended.measured
            if ended.error is not None:
                raise ended.error
            if ended.is_last and not ended.interrupted:
                break
        return measurements

    def end(self) -> None:
        """Ends all processes, and removes what they wrote that is not part of the run."""
        for process in self._processes:
            process.kill()
        for process in self._processes:
            process.join()
        shutil.rmtree(_folder(self._paths), ignore_errors=True)

    def _awaited(self, turn: Turn, context: RunContext) -> _Ended | None:
        """Shows a variant until it has ended; None if it never began, because the user interrupted before."""
        shown = self._shown[turn.number]
        while True:
            if not context.manifest.interrupted:
                for message in shown:
                    _show(context, message)
            shown.clear()
            if turn.number in self._ended:
                return self._ended.pop(turn.number)
            if all(turn is not running for _, running in self._running.values()):
                return None
            if context.interrupt.asked and not self._ending:
                self._ending = True
                for connection in self._running:
                    connection.send(None)
            self._receive()

    def _receive(self) -> None:
        for connection in wait(list(self._running), _LOOK_SECONDS):
            assert isinstance(connection, Connection)
            process, turn = self._running[connection]
            try:
                message = connection.recv()
            except (EOFError, ConnectionError):
                process.join()
                raise WorkFailedError(f"variant {turn.variant.name}", process.exitcode or 0) from None
            if isinstance(message, _Ended):
                self._ended[turn.number] = message
                self._ending |= message.is_last
                del self._running[connection]
                self._assign(connection, process)
            else:
                _wait_in(self._shown[turn.number], message)

    def _assign(self, connection: Connection, process: ForkProcess) -> None:
        turn = None if self._ending else next(self._waiting, None)
        if turn is None:
            connection.close()
            return
        self._running[connection] = process, turn
        connection.send(turn.number)


@dataclass(frozen=True, slots=True)
class _Worker:
    """The work of a process: variants, one after another, with all that was known before it was forked."""

    paths: RunPaths
    record: Manifest
    turns: Sequence[Turn]
    run: RunTurns

    def serve(self, connection: Connection) -> None:
        """Runs the variants whose numbers come over the connection. Signals are for the process that sends them."""
        for number in ASKING_TO_END:
            signal.signal(number, signal.SIG_IGN)
        threading.Thread(target=end_with_parent, daemon=True).start()
        try:
            while (number := connection.recv()) is not None:
                connection.send(self._run(self.turns[number - 1], connection))
        except (EOFError, ConnectionError):
            return  # there is nothing more to do

    def _run(self, turn: Turn, connection: Connection) -> _Ended:
        own = _own_paths(self.paths, turn)
        snapshot = Snapshot(variants=len(self.turns), speed=0.0)
        measured: list[Measurements] = []
        record = Manifest(**{name: getattr(self.record, name) for name in self.record.__struct_fields__})
        record.variants = []
        error: BaseException | None = None
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
            error = _picklable(raised)
        return _Ended(record.variants, measured, record.interrupted, error)


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


def _picklable(error: Exception) -> Exception:
    """The error, with the stack trace of this process where that is of use."""
    trace = "".join(traceback.format_exception(error))
    if not isinstance(error, (UserError, OSError)):
        error.add_note(trace)
    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301 - of our own
    except Exception:
        return RuntimeError(trace)
    return error


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


def _join(paths: RunPaths, own: RunPaths) -> None:
    """Appends the logs of a variant to those of the run. Raises `OSError`."""
    for log in log_files(own.logs):
        _append(log, paths.logs / log.name)
    _append(own.directory / EMULATOR_LOG, paths.directory / EMULATOR_LOG)


def _append(log: Path, to: Path) -> None:
    if not to.exists():
        log.rename(to)
        return
    with log.open("rb") as read, to.open("ab") as written:
        shutil.copyfileobj(read, written, 1 << 20)
    log.unlink()
