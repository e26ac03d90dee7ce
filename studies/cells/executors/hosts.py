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
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from emulation.ansible import PlayCancelledError, Played, PlayError, play
from emulation.host.processes import this_process
from emulation.multi_host.connection import connections
from emulation.multi_host.product import pack
from record.errors import BadInputError, HostError, UserError
from record.exit_codes import ExitCode
from studies.cells.attempt import AnyAttempt, CellRequest
from studies.cells.cell import AnyCell
from studies.cells.executors.interface import AttemptedCell, ExecutorOptions, ProgressBoard
from studies.cells.executors.on_host import STOP
from studies.cells.store import AnyStore

_ROOT = Path(__file__).resolve().parents[3]
_RUN_THE_CELL = "run the cell"
"""The task of `cell.yml` that prints the attempt."""
_POLL_INTERVAL = 0.2
"""Seconds between two looks at whether the user has stopped the study."""

Play = Callable[..., Played]
"""`emulation.ansible.play`, or a test's replacement for it."""


@dataclass(slots=True)
class _RunningCell:
    """A cell that runs on a host."""

    host: str
    directory: str
    """The cell's directory: a path on this host, a name below brokerlab's directory on another one."""
    local: bool


class _CellQueue:
    """The cells that wait for a host. A host that cannot run a cell gives it back."""

    def __init__(self, cells: Sequence[AnyCell]) -> None:
        self._waiting = deque(cells)
        self._taken = 0
        self._changed = threading.Condition()

    def take(self, closed: Callable[[], bool]) -> AnyCell | None:
        """The next cell; None when the queue is closed, or is empty and no host has a cell that it might give back."""
        with self._changed:
            while not self._waiting and self._taken and not closed():
                self._changed.wait(_POLL_INTERVAL)  # closing is for signal handlers too, which cannot notify
            if not self._waiting or closed():
                return None
            self._taken += 1
            return self._waiting.popleft()

    def done(self) -> None:
        """A cell that was taken needs no further attempt."""
        with self._changed:
            self._taken -= 1
            self._changed.notify_all()

    def give_back(self, cell: AnyCell) -> None:
        with self._changed:
            self._waiting.appendleft(cell)
            self._taken -= 1
            self._changed.notify_all()

    @property
    def empty(self) -> bool:
        return not self._waiting


@dataclass(slots=True)
class _Shared:
    """The state that the hosts' threads share."""

    waiting: _CellQueue
    ended: queue.SimpleQueue[AttemptedCell | BaseException | None] = field(default_factory=queue.SimpleQueue)
    """Attempts as they end, errors of this program, and None as each host's thread ends."""
    running: dict[str, _RunningCell] = field(default_factory=dict)
    errors: dict[str, HostError] = field(default_factory=dict)
    """The reason why a host takes no more cells, by host."""


class HostExecutor:
    """Runs cells on hosts. `stop` and `abandon` may be called from a signal handler."""

    def __init__(self, options: ExecutorOptions, store: AnyStore, board: ProgressBoard, play_on: Play = play) -> None:
        self._options = options
        self._inventory = options.hosts
        self._store = store
        self._board = board
        self._play = play_on
        self._command = secrets.token_hex(8)
        self._stopping = threading.Event()
        self._abandoned = threading.Event()
        self._product = ""
        self._archive = Path()
        self._connection: Mapping[str, object] = {}
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
        with self._other_hosts():
            shared = _Shared(_CellQueue(cells))
            threads = [
                threading.Thread(target=self._work, args=(host, shared), name=f"cells on {host}", daemon=True)
                for host in self._inventory.hosts
            ]
            for thread in threads:
                thread.start()
            try:
                yield from self._ended_attempts(shared, len(threads))
            finally:
                self._stopping.set()
                for thread in threads:
                    thread.join(None if not self._abandoned.is_set() else _POLL_INTERVAL)
            if shared.errors and not shared.waiting.empty and not self._abandoned.is_set():
                raise _no_host_left(shared.errors)

    def _ended_attempts(self, shared: _Shared, hosts: int) -> Generator[AttemptedCell, None, None]:
        asked = False
        while hosts and not self._abandoned.is_set():
            if self._stopping.is_set() and not asked:
                asked = True
                threading.Thread(target=self._stop_running_cells, args=(shared,), daemon=True).start()
            try:
                attempted = shared.ended.get(timeout=_POLL_INTERVAL)
            except queue.Empty:
                continue
            if attempted is None:
                hosts -= 1
            elif isinstance(attempted, BaseException):
                raise attempted
            else:
                yield attempted

    def _work(self, host: str, shared: _Shared) -> None:
        """Runs cells on one host until none is left; the body of the host's thread."""
        try:
            while (cell := shared.waiting.take(self._stopping.is_set)) is not None:
                if not self._attempt_until_final(cell, host, shared):
                    shared.waiting.give_back(cell)
                    return
                shared.waiting.done()
        except BaseException as error:
            shared.ended.put(error)
        finally:
            shared.ended.put(None)

    def _attempt_until_final(self, cell: AnyCell, host: str, shared: _Shared) -> bool:
        """Attempts a cell as often as it is worthwhile; returns whether the cell is done."""
        number = len(self._store.attempts(cell))
        while True:
            self._board.begin(cell, host)
            try:
                attempt = self._attempt(cell, host, shared)
            except PlayCancelledError:
                return False
            except HostError as error:
                if not self._stopping.is_set():
                    shared.errors[host] = error
                    self._board.print_line(f"{host} takes no more cells: {error}")
                return False
            number += 1
            shared.ended.put(AttemptedCell(cell, attempt))
            if attempt.is_final(number, self._options.retries):
                return True
            if self._stopping.is_set():
                return False

    def _attempt(self, cell: AnyCell, host: str, shared: _Shared) -> AnyAttempt:
        local = self._is_local(host)
        work = self._store.new_work(cell)
        directory = str(work) if local else f"{cell.key}-{secrets.token_hex(4)}"
        shared.running[host] = _RunningCell(host, directory, local)
        try:
            played = self._play(
                "cell.yml",
                self._inventory,
                self._store.plays,
                self._variables(cell, directory, work, local),
                limit=host,
                cancelled=self._abandoned.is_set,
            )
            attempt = self._decoded(played, host)
            self._store.keep_run(cell, attempt, work)
            return msgspec.structs.replace(attempt, host=host)
        except PlayError as error:
            raise _in_words(error) from error
        finally:
            del shared.running[host]
            if not self._abandoned.is_set():
                shutil.rmtree(work, ignore_errors=True)

    def _decoded(self, played: Played, host: str) -> AnyAttempt:
        output = played.of(_RUN_THE_CELL).get(host, {}).get("stdout", "")
        try:
            return self._store.decode_attempt(output)
        except msgspec.DecodeError as error:
            raise HostError(
                f"did not answer with the outcome of its cell ({error}); is its brokerlab this one?"
            ) from error

    def _is_local(self, host: str) -> bool:
        return self._inventory.variables.get(host, {}).get("ansible_connection") == "local"

    @contextmanager
    def _other_hosts(self) -> Iterator[None]:
        """Packs this version of brokerlab for other hosts; those that lack it get it. All plays share connections."""
        if all(map(self._is_local, self._inventory.hosts)):
            yield
            return
        product = pack()
        self._store.plays.mkdir(parents=True, exist_ok=True)
        self._archive = self._store.plays.absolute() / f"{product.name}.tar.gz"
        self._archive.write_bytes(product.content)
        self._product = product.name
        with tempfile.TemporaryDirectory() as directory, connections(Path(directory) / "ssh") as self._connection:
            yield

    def _variables(self, cell: AnyCell, directory: str, work: Path, local: bool) -> dict[str, Any]:
        request = CellRequest(
            study=str(self._store.path.absolute()),
            command=self._command,
            cell=cell,
            runtime=self._options.runtime,
            keep=self._options.keep,
        )
        owner = this_process()
        return {
            "request": request.encode().decode(),
            "cell_directory": directory,
            "fetch_into": str(work),
            "owner": [str(owner.pid), str(owner.started)] if local else [],
            "own_root": str(_ROOT),
            "own_python": sys.executable,
            "product": self._product,
            "archive": str(self._archive),
            **self._connection,
        }

    def _stop_running_cells(self, shared: _Shared) -> None:
        for running in list(shared.running.values()):
            if running.local:
                with contextlib.suppress(OSError):
                    (Path(running.directory) / STOP).touch()
            else:
                with contextlib.suppress(PlayError, PlayCancelledError):
                    self._play(
                        "stop-cell.yml",
                        self._inventory,
                        self._store.plays,
                        {"cell_directory": running.directory, **self._connection},
                        limit=running.host,
                    )


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
