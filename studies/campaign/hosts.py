"""Cells on the hosts of an inventory: each host takes one after another from the same queue, through Ansible."""

from __future__ import annotations

import base64
import contextlib
import os
import queue
import secrets
import shutil
import sys
import threading
from collections import deque
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import msgspec

from emulation.ansible import Inventory, PlayCancelledError, Played, PlayError, play
from emulation.host.processes import identify
from emulation.multi_host.product import pack
from record.errors import HostError
from studies.campaign.attempt import Attempt, Attempted, Keep, Order
from studies.campaign.cell import Cell
from studies.campaign.directory import CampaignDirectory
from studies.campaign.on_host import STOP

_HOME = Path(__file__).resolve().parents[2]
_RUN_THE_CELL = "run the cell"
"""The task of `cell.yml` whose standard output is the attempt."""
_LOOK_INTERVAL = 0.2

Play = Callable[..., Played]
"""`emulation.ansible.play`, or what stands in for it in a test."""


class Watch(Protocol):
    """Who shows what is going on. Called from the hosts' threads."""

    def begin(self, cell: Cell, host: str) -> None:
        """A host begins a try at a cell."""

    def say(self, line: str) -> None:
        """Something that is to stay readable."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """How cells are run."""

    runtime: str
    keep: Keep
    retries: int
    """Further tries at a cell that is not VALID because its host was busy."""


@dataclass(slots=True)
class _Trying:
    """A try under way."""

    host: str
    place: str
    """The cell's directory; on another host a name, which its directory of brokerlab goes before."""
    local: bool


@dataclass(slots=True)
class _Shared:
    """What the hosts' threads have in common."""

    waiting: deque[Cell]
    told: queue.SimpleQueue[Attempted | BaseException | None] = field(default_factory=queue.SimpleQueue)
    """Attempts as they end, faults of this program's own, None as each host ends."""
    trying: dict[str, _Trying] = field(default_factory=dict)
    errors: dict[str, HostError] = field(default_factory=dict)
    """Why a host takes no more cells."""


class HostCells:
    """Runs cells on hosts. `stop` and `abandon` may be called from a signal's handler."""

    def __init__(
        self, inventory: Inventory, directory: CampaignDirectory, terms: Terms, watch: Watch, play_on: Play = play
    ) -> None:
        self._inventory = inventory
        self._directory = directory
        self._terms = terms
        self._watch = watch
        self._play = play_on
        self._command = secrets.token_hex(8)
        self._stopping = threading.Event()
        self._abandoned = threading.Event()
        self._product = ""
        self._archive = Path()

    def stop(self) -> None:
        """Lets no further cell begin, and asks those under way to end in order."""
        self._stopping.set()

    def abandon(self) -> None:
        """Waits for nothing any more. What runs on this host ends by itself when this process has ended."""
        self._stopping.set()
        self._abandoned.set()

    def run(self, cells: Sequence[Cell]) -> Generator[Attempted, None, None]:
        """Yields every try as it ends. Ends early when stopped.

        Raises `HostError` when there are cells left that no host can run: a host that fails is given no more, and what
        it had is done by the others.
        """
        self._hand_over()
        shared = _Shared(deque(cells))
        threads = [
            threading.Thread(target=self._work, args=(host, shared), name=f"cells on {host}", daemon=True)
            for host in self._inventory.hosts
        ]
        for thread in threads:
            thread.start()
        try:
            yield from self._tell(shared, len(threads))
        finally:
            self._stopping.set()
            for thread in threads:
                thread.join(None if not self._abandoned.is_set() else _LOOK_INTERVAL)
        if shared.errors and shared.waiting and not self._abandoned.is_set():
            raise HostError("; ".join(f"{host}: {error}" for host, error in shared.errors.items()))

    def _tell(self, shared: _Shared, hosts: int) -> Generator[Attempted, None, None]:
        asked = False
        while hosts and not self._abandoned.is_set():
            if self._stopping.is_set() and not asked:
                asked = True
                threading.Thread(target=self._ask_to_end, args=(shared,), daemon=True).start()
            try:
                attempted = shared.told.get(timeout=_LOOK_INTERVAL)
            except queue.Empty:
                continue
            if attempted is None:
                hosts -= 1
            elif isinstance(attempted, BaseException):
                raise attempted
            else:
                yield attempted

    def _work(self, host: str, shared: _Shared) -> None:
        """One host's share of the cells."""
        try:
            while not self._stopping.is_set():
                try:
                    cell = shared.waiting.popleft()
                except IndexError:
                    return
                if not self._try_until_usable(cell, host, shared):
                    shared.waiting.appendleft(cell)
                    return
        except BaseException as error:
            shared.told.put(error)
        finally:
            shared.told.put(None)

    def _try_until_usable(self, cell: Cell, host: str, shared: _Shared) -> bool:
        """Tries a cell as often as it is worth it. Whether that is done with."""
        tried = len(self._directory.attempts(cell))
        while True:
            self._watch.begin(cell, host)
            try:
                attempt = self._try(cell, host, shared)
            except PlayCancelledError:
                return False
            except HostError as error:
                if not self._stopping.is_set():
                    shared.errors[host] = error
                    self._watch.say(f"{host} takes no more cells: {error}")
                return False
            tried += 1
            shared.told.put(Attempted(cell, attempt))
            if attempt.is_final(tried, self._terms.retries):
                return True
            if self._stopping.is_set():
                return False

    def _try(self, cell: Cell, host: str, shared: _Shared) -> Attempt:
        local = self._is_local(host)
        here = self._directory.new_work(cell)
        place = str(here) if local else f"{cell.key}-{secrets.token_hex(4)}"
        shared.trying[host] = _Trying(host, place, local)
        try:
            played = self._play(
                "cell.yml",
                self._inventory,
                self._directory.plays,
                self._variables(cell, place, here, local),
                limit=host,
                cancelled=self._abandoned.is_set,
            )
            attempt = _attempt(played, host)
            self._directory.keep_run(cell, attempt, here)
            return msgspec.structs.replace(attempt, host=host)
        except PlayError as error:
            raise _in_words(error) from error
        finally:
            del shared.trying[host]
            if not self._abandoned.is_set():
                shutil.rmtree(here, ignore_errors=True)

    def _is_local(self, host: str) -> bool:
        return self._inventory.variables.get(host, {}).get("ansible_connection") == "local"

    def _hand_over(self) -> None:
        """Packs this very brokerlab for other hosts, which get it where they do not have it yet."""
        if all(map(self._is_local, self._inventory.hosts)):
            return
        product = pack()
        self._directory.plays.mkdir(parents=True, exist_ok=True)
        self._archive = self._directory.plays.absolute() / f"{product.name}.tar.gz"
        self._archive.write_bytes(product.content)
        self._product = product.name

    def _variables(self, cell: Cell, place: str, here: Path, local: bool) -> dict[str, Any]:
        order = Order(
            campaign=str(self._directory.path.absolute()),
            command=self._command,
            cell=cell,
            runtime=self._terms.runtime,
            keep=self._terms.keep,
        )
        me = identify(os.getpid())
        assert me is not None
        return {
            "order": base64.b64encode(order.encode()).decode(),
            "place": place,
            "here": str(here),
            "owner": [str(me.pid), str(me.started)] if local else [],
            "own_home": str(_HOME),
            "own_python": sys.executable,
            "product": self._product,
            "archive": str(self._archive),
        }

    def _ask_to_end(self, shared: _Shared) -> None:
        for trying in list(shared.trying.values()):
            if trying.local:
                with contextlib.suppress(OSError):
                    (Path(trying.place) / STOP).touch()
            else:
                with contextlib.suppress(PlayError, PlayCancelledError):
                    self._play(
                        "stop-cell.yml", self._inventory, self._directory.plays, {"place": trying.place},
                        limit=trying.host,
                    )  # fmt: skip


def _in_words(error: PlayError) -> HostError:
    """What the cell itself said, where it said something; the campaign tells which host that was."""
    for failure in error.failures:
        if failure.task == _RUN_THE_CELL:
            return HostError(failure.message)
        return HostError(f"{failure.task}: {failure.message}")
    return error


def _attempt(played: Played, host: str) -> Attempt:
    said = played.of(_RUN_THE_CELL).get(host, {}).get("stdout", "")
    try:
        return msgspec.json.decode(said, type=Attempt)
    except msgspec.DecodeError as error:
        raise HostError(f"said something else than how its cell went ({error}); is its brokerlab this one?") from error
