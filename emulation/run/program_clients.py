"""The programs of a variant together with the relay through which they speak to their brokers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty
from types import TracebackType
from typing import Self

from emulation.drivers.instructions import Leave, Pause, Resume, Return, Start
from emulation.drivers.status import DriverStatus
from emulation.run.client_programs import ClientPrograms, ProgramEnding
from emulation.run.drivers import DriverProcess
from record.errors import HostError

PROGRAM_RELAY = "emulation.drivers.program_relay"
"""The module that the relay executes."""
_END_WITHIN = 10.0
"""Seconds that the relay gets to write its log down."""


@dataclass(slots=True)
class ProgramClients:
    """The programs and their relay; leaving the context ends them."""

    relay: DriverProcess
    programs: ClientPrograms
    _left: bool = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.programs.__exit__(kind, error, trace)
        self._end_relay()

    @property
    def name(self) -> str:
        """The name of the node that logs what programs do and get."""
        return self.relay.name

    @property
    def status(self) -> DriverStatus:
        return self.relay.status

    def start(self) -> None:
        """Starts the programs once the relay listens. Raises `HostError` for one that cannot be started."""
        self.relay.begun.wait()
        self._check_relay()
        self.programs.start()

    @property
    def ready(self) -> bool:
        """True once every program has opened a stream. Raises `HostError` when one has ended instead."""
        self._check_relay()
        for ending in self.programs.ended():
            raise HostError(f"clients.programs.{ending.client}: before it had opened a session, it {ending.text}")
        return self.relay.ready.is_set()

    @property
    def not_ready(self) -> str:
        """The sentence on programs that have opened no stream in time."""
        (first, *others) = self.relay.connecting.waiting
        more = f" (nor have {', '.join(others)})" if others else ""
        return f"clients.programs.{first}: it runs, and has opened no session at BROKERLAB_ADDRESS{more}"

    def begin(self, start: int, clock_offset: int) -> None:
        """Lets the programs begin at that time."""
        self.relay.instruct(Start(start, clock_offset))

    def end(self, clients: tuple[str, ...]) -> None:
        """Ends those of these clients that are programs, because of a fault."""
        self.relay.instruct(Leave(clients))
        self.programs.end(clients)

    def come_back(self, clients: tuple[str, ...]) -> None:
        """Starts those of these clients again. Raises `HostError`."""
        self.relay.instruct(Return(clients))
        self.programs.start_again(clients)

    def pause(self, clients: tuple[str, ...]) -> None:
        """Freezes those of these clients that are programs."""
        self.programs.pause(clients)
        self.relay.instruct(Pause(clients))

    def resume(self, clients: tuple[str, ...]) -> None:
        """Undoes `pause`."""
        self.relay.instruct(Resume(clients))
        self.programs.resume(clients)

    def endings(self) -> Iterator[ProgramEnding]:
        """Programs that failed or ended since the last call. Raises `HostError` when the relay has ended."""
        if self._left:
            return
        self._check_relay()
        yield from self._told()
        yield from self.programs.ended()

    def leave(self) -> Iterator[ProgramEnding]:
        """Ends programs and relay; yields what goes wrong then."""
        if self._left:
            return
        self._left = True
        yield from self.programs.leave()
        self._end_relay()
        yield from self._told()

    def _told(self) -> Iterator[ProgramEnding]:
        with suppress(Empty):
            while True:
                told = self.relay.told.get_nowait()
                yield ProgramEnding(told.client, told.text)

    def _check_relay(self) -> None:
        if not self.relay.running:
            raise HostError(self.relay.exit_report())

    def _end_relay(self) -> None:
        self.relay.ask_to_end()
        self.relay.end(_END_WITHIN)
