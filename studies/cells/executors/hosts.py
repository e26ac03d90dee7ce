"""Runs cells on the hosts of an inventory through Ansible. Each host takes one cell after another from the same
queue."""

from __future__ import annotations

import contextlib
import queue
import secrets
import shutil
import sys
import tempfile
import threading
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from emulation.ansible import Inventory, PlayCancelledError, Played, PlayError, play
from emulation.host.processes import this_process
from emulation.multi_host.connection import connections
from emulation.multi_host.product import pack
from record.errors import BadInputError, HostError, UserError
from record.exit_codes import ExitCode
from studies.cells.attempt import AnyAttempt, AttemptedCell, CellRequest
from studies.cells.board import ConsoleBoard
from studies.cells.cell import AnyCell
from studies.cells.executors.interface import ExecutorOptions
from studies.cells.store import STOP, AnyStore

_ROOT = Path(__file__).resolve().parents[3]
_RUN_THE_CELL = "run the cell"
"""The task of `cell.yml` that prints the attempt."""
_POLL_INTERVAL = 0.2
"""Seconds between two looks at whether the user has stopped the study."""

Play = Callable[..., Played]
"""`emulation.ansible.play`, or a test's replacement for it."""


@dataclass(frozen=True, slots=True, eq=False)
class _RunningCell:
    """An attempt in progress at a cell on a host."""

    cell: AnyCell
    host: str
    work: Path
    """The attempt's directory on this host."""
    directory: str
    """The cell's directory: a path on this host, a name below brokerlab's directory on another one."""
    local: bool


_Ended = tuple[_RunningCell, AnyAttempt | Exception]
"""An attempt that has ended, and what came of it."""


class HostExecutor:
    """Runs cells on hosts. `stop` and `abandon` may be called from a signal handler."""

    def __init__(self, options: ExecutorOptions, store: AnyStore, board: ConsoleBoard, play_on: Play = play) -> None:
        self._options = options
        self._inventory = options.hosts
        self._store = store
        self._board = board
        self._play = play_on
        self._command = secrets.token_hex(8)
        self._stopping = threading.Event()
        self._abandoned = threading.Event()
        self._running: dict[_RunningCell, threading.Thread] = {}
        self._others: Mapping[str, object] = {}
        """Variables of plays on other hosts."""

    def stop(self) -> None:
        """Begins no further cell, and asks the running ones to end in order."""
        self._stopping.set()

    def abandon(self) -> None:
        """Stops waiting for anything. Cells on this host end by themselves when this process has ended."""
        self._stopping.set()
        self._abandoned.set()

    def run(self, cells: Sequence[AnyCell]) -> Generator[AttemptedCell, None, None]:
        """Yields every attempt as it ends. Ends early when stopped.

        A host that fails gets no more cells, and the others run the one it had. When cells are left that no host can
        run, raises `HostError`, or `BadInputError` where mistakes in the inventory are the only reasons.
        """
        waiting, errors = deque(cells), dict[str, HostError]()
        with self._other_hosts():
            try:
                yield from self._attempts(waiting, errors)
            finally:
                self._stopping.set()
                for thread in self._running.values():
                    thread.join(None if not self._abandoned.is_set() else _POLL_INTERVAL)
        if errors and waiting and not self._abandoned.is_set():
            raise _no_host_left(errors)

    def _attempts(self, waiting: deque[AnyCell], errors: dict[str, HostError]) -> Generator[AttemptedCell, None, None]:
        """Attempts each cell as often as it is worthwhile; leaves in `waiting` those that no host has run."""
        free, ended = deque(self._inventory.hosts), queue.SimpleQueue[_Ended]()
        tried = Counter({cell.key: len(self._store.attempts(cell)) for cell in waiting})
        asked = False
        while not self._abandoned.is_set():
            while waiting and free and not self._stopping.is_set():
                self._begin(waiting.popleft(), free.popleft(), ended)
            if not self._running:
                return
            if self._stopping.is_set() and not asked:
                asked = True
                threading.Thread(target=self._stop_cells, args=(list(self._running),), daemon=True).start()
            try:
                running, outcome = ended.get(timeout=_POLL_INTERVAL)
            except queue.Empty:
                continue
            del self._running[running]
            cell, host = running.cell, running.host
            match outcome:
                case PlayCancelledError():
                    waiting.appendleft(cell)
                case HostError():
                    waiting.appendleft(cell)
                    if not self._stopping.is_set():
                        errors[host] = outcome
                        self._board.print_line(f"{host} takes no more cells: {outcome}")
                case Exception():
                    raise outcome
                case attempt:
                    free.appendleft(host)
                    tried[cell.key] += 1
                    if not attempt.is_final(tried[cell.key], self._options.retries):
                        waiting.appendleft(cell)
                    yield AttemptedCell(cell, attempt)

    def _begin(self, cell: AnyCell, host: str, ended: queue.SimpleQueue[_Ended]) -> None:
        """Attempts a cell on a host, in a thread of its own."""
        local = _is_local(self._inventory, host)
        work = self._store.new_work(cell)
        running = _RunningCell(cell, host, work, str(work) if local else f"{cell.key}-{secrets.token_hex(4)}", local)

        def attempt() -> None:
            try:
                ended.put((running, self._attempt(running)))
            except Exception as error:
                ended.put((running, error))

        self._board.begin(cell, host)
        self._running[running] = threading.Thread(target=attempt, name=f"{cell.key} on {host}", daemon=True)
        self._running[running].start()

    def _attempt(self, running: _RunningCell) -> AnyAttempt:
        try:
            played = self._play(
                "cell.yml",
                self._inventory,
                self._store.plays,
                self._variables(running),
                limit=running.host,
                cancelled=self._abandoned.is_set,
            )
            attempt = self._decoded(played, running.host)
            self._store.keep_run(running.cell, attempt, running.work)
            return msgspec.structs.replace(attempt, host=running.host)
        except PlayError as error:
            raise _in_words(error) from error
        finally:
            if not self._abandoned.is_set():
                shutil.rmtree(running.work, ignore_errors=True)

    def _decoded(self, played: Played, host: str) -> AnyAttempt:
        output = played.of(_RUN_THE_CELL).get(host, {}).get("stdout", "")
        try:
            return self._store.decode_attempt(output)
        except msgspec.DecodeError as error:
            raise HostError(
                f"did not answer with the outcome of its cell ({error}); is its brokerlab this one?"
            ) from error

    @contextmanager
    def _other_hosts(self) -> Iterator[None]:
        """Packs this version of brokerlab for other hosts; those that lack it get it. All plays share connections."""
        if all(_is_local(self._inventory, host) for host in self._inventory.hosts):
            yield
            return
        product = pack()
        self._store.plays.mkdir(parents=True, exist_ok=True)
        archive = self._store.plays.absolute() / f"{product.name}.tar.gz"
        archive.write_bytes(product.content)
        with tempfile.TemporaryDirectory() as directory, connections(Path(directory) / "ssh") as connection:
            self._others = {"product": product.name, "archive": str(archive), **connection}
            yield

    def _variables(self, running: _RunningCell) -> dict[str, Any]:
        request = CellRequest(
            study=str(self._store.path.absolute()),
            command=self._command,
            cell=running.cell,
            runtime=self._options.runtime,
            keep=self._options.keep,
        )
        owner = this_process()
        return {
            "study": running.cell.study,
            "request": request.encode().decode(),
            "cell_directory": running.directory,
            "fetch_into": str(running.work),
            "owner": [str(owner.pid), str(owner.started)] if running.local else [],
            "own_root": str(_ROOT),
            "own_python": sys.executable,
            **self._others,
        }

    def _stop_cells(self, cells: Sequence[_RunningCell]) -> None:
        """Asks running cells to end in order."""
        for running in cells:
            if running.local:
                with contextlib.suppress(OSError):
                    (running.work / STOP).touch()
            else:
                with contextlib.suppress(PlayError, PlayCancelledError):
                    self._play(
                        "stop-cell.yml",
                        self._inventory,
                        self._store.plays,
                        {"cell_directory": running.directory, **self._others},
                        limit=running.host,
                    )


def _is_local(inventory: Inventory, host: str) -> bool:
    return inventory.variables.get(host, {}).get("ansible_connection") == "local"


def _in_words(error: PlayError) -> HostError:
    """The cell's own message where it gave one; the scheduler adds the host."""
    if not error.failures:
        return error
    failure = error.failures[0]
    shortened = HostError(failure.message if failure.task == _RUN_THE_CELL else f"{failure.task}: {failure.message}")
    shortened.exit_code = error.exit_code
    return shortened


def _no_host_left(errors: Mapping[str, HostError]) -> UserError:
    """The reasons for which hosts take no more cells, by host, as one error."""
    message = "; ".join(f"{host}: {error}" for host, error in errors.items())
    mistaken = all(error.exit_code == ExitCode.BAD_INPUT for error in errors.values())
    return BadInputError(message) if mistaken else HostError(message)
