"""Brokers that are linked: they start, fail and come back, their links are cut, and they come to rest."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import grpc

from emulation.host.loopback_block import LoopbackBlock
from studies.broker_kit.canaries import Canaries
from studies.broker_kit.configuration import Configuration, LinkEnd
from studies.broker_kit.control import Control, Look
from studies.broker_kit.failures import RowFailure
from studies.broker_kit.programs import END_WITHIN, Ending, Files, Host, Program
from studies.broker_kit.raw_stream import RawStream
from studies.broker_kit.relay import Relay

REST_WITHIN = 30.0
"""Seconds in which an overlay is connected and at rest at the latest."""
_FIRST_LOOK, _LATER_LOOKS = 0.005, 0.1
_STATUS_LEVEL = 2
LINK_PORT = 7000
"""The port of links at each address."""


@dataclass(frozen=True, slots=True)
class KitLink:
    """A link between two brokers, of which `a` dials."""

    a: str
    b: str
    delay: float = 0.0
    """Seconds, one way."""


class RunningBroker:
    """A broker that was started, and how to reach it."""

    def __init__(self, configuration: Configuration, program: Program, files: Files, control: Control) -> None:
        self.configuration = configuration
        self.program = program
        self.files = files
        self.control = control

    @property
    def name(self) -> str:
        return self.configuration.id

    @property
    def address(self) -> str:
        """Address for clients."""
        return f"unix:{self.files.socket_here}"

    async def ready(self, within: float) -> None:
        """Returns once the broker welcomes clients. Raises `RowFailure` when it ends or takes too long."""
        deadline = asyncio.get_running_loop().time() + within
        while not await self._serves():
            if (ending := await self.program.ending(_FIRST_LOOK)) is not None:
                raise RowFailure(f"the broker does not start: {ending}")
            if asyncio.get_running_loop().time() > deadline:
                raise RowFailure(f"the broker has not welcomed a client {within:g} s after its start")
            await asyncio.sleep(_LATER_LOOKS / 2)

    async def stop(self) -> Ending | None:
        """Asks it to stop; None when it has not ended in time."""
        self.program.signal(signal.SIGTERM)
        return await self.program.ending(END_WITHIN)

    async def kill(self) -> None:
        """Ends it as a crash does."""
        if await self.program.ending(0.0) is None:
            self.program.signal(signal.SIGKILL)
            await self.program.ending(END_WITHIN)

    async def require_running(self) -> None:
        """Raises `RowFailure` when it has ended by itself."""
        if (ending := await self.program.ending(0.0)) is not None:
            raise RowFailure(f"broker {self.name} has ended by itself: {ending}")

    async def _serves(self) -> bool:
        path = self.files.socket_here
        if not path.exists():
            return False
        with socket.socket(socket.AF_UNIX) as probe:
            if probe.connect_ex(str(path)):
                return False
        stream = RawStream.open(self.address)
        try:
            await stream.welcome()
        finally:
            await stream.close()
        return True


class KitOverlay:
    """A running overlay."""

    def __init__(
        self, host: Host, brokers: Sequence[str], links: Sequence[KitLink],
        configuration: Callable[[str], Configuration], level: int,
    ) -> None:  # fmt: skip
        self.links = links
        self.running: dict[str, RunningBroker] = {}
        self._host = host
        self._level = level
        self._names = {name: f"{name}-{os.urandom(3).hex()}" for name in brokers}
        """Directories of the brokers; their names are those of the case."""
        self._cut: set[frozenset[str]] = set()
        self._touched = False
        self._block = LoopbackBlock(host.make_socket)
        ends: dict[str, list[LinkEnd]] = {name: [] for name in brokers}
        self._relays: dict[frozenset[str], Relay] = {}
        for number, link in enumerate(links):
            high, low = divmod(number, 60)
            dialler, listener, between = (self._block.address(high, 4 * low + place) for place in (1, 2, 3))
            ends[link.a].append(LinkEnd(link.b, f"{dialler}:{LINK_PORT}", f"{between}:{LINK_PORT}", dial=True))
            ends[link.b].append(LinkEnd(link.a, f"{listener}:{LINK_PORT}", f"{between}:{LINK_PORT}", dial=False))
            self._relays[frozenset((link.a, link.b))] = Relay(
                between, (listener, LINK_PORT), link.delay, host.make_socket
            )
        self._configurations = {
            name: replace(configuration(self._names[name]), id=name, links=ends[name]) for name in brokers
        }

    async def start(self) -> None:
        """Starts all brokers; returns once all links are up. Raises `RowFailure`."""
        for relay in self._relays.values():
            await relay.start()
        await asyncio.gather(*(self._start(name) for name in self._names))
        await self.settle()

    async def close(self) -> None:
        """Ends everything."""
        await asyncio.gather(*(broker.kill() for broker in self.running.values()))
        await asyncio.gather(*(relay.close() for relay in self._relays.values()))
        self._block.close()

    async def as_new(self) -> bool:
        """True when its brokers have seen no fault, run, and are at rest without clients."""
        if self._touched:
            return False
        try:
            await self.settle()
        except RowFailure:
            return False
        return True

    # Faults

    async def kill(self, broker: str) -> None:
        """Ends a broker as a crash does."""
        self._touched = True
        await self.running.pop(broker).kill()

    async def restart(self, broker: str) -> None:
        """Starts the next incarnation of a broker."""
        self._configurations[broker] = self._configurations[broker].restarted()
        await self._start(broker)

    def cut(self, a: str, b: str) -> None:
        """Lets a link carry nothing."""
        self._touched = True
        self._cut.add(frozenset((a, b)))
        self._relays[frozenset((a, b))].cut()

    def restore(self, a: str, b: str) -> None:
        """Undoes `cut`."""
        self._cut.discard(frozenset((a, b)))
        self._relays[frozenset((a, b))].restore()

    def break_streams(self, a: str, b: str) -> None:
        """Closes the streams of a link, which stays."""
        self._touched = True
        self._relays[frozenset((a, b))].break_streams()

    # Rest

    async def settle(self) -> None:
        """Returns once nothing moves and every link that should work does. Raises `RowFailure`."""
        if self._level < _STATUS_LEVEL:
            addresses = {name: broker.address for name, broker in self.running.items()}
            await Canaries(addresses, list(self._parts())).all_come()
            return
        deadline = asyncio.get_running_loop().time() + REST_WITHIN
        former: Mapping[str, tuple[int, ...]] | None = None
        interval = _FIRST_LOOK
        while True:
            await self.require_running()
            look = await self._look()
            obstacle = look.obstacle(self._working()) if look else "a broker does not answer Status"
            counters = look.counters if look else None
            if not obstacle and counters == former:
                return
            former = counters
            if asyncio.get_running_loop().time() > deadline:
                raise RowFailure(f"the overlay is not at rest after {REST_WITHIN:g} s: {obstacle or 'counters move'}")
            await asyncio.sleep(interval)
            interval = min(1.5 * interval, _LATER_LOOKS)

    async def require_running(self) -> None:
        """Raises `RowFailure` when a broker has ended by itself."""
        for broker in self.running.values():
            await broker.require_running()

    async def _look(self) -> Look | None:
        names = list(self.running)
        try:
            replies = await asyncio.gather(*(self.running[name].control.asked() for name in names))
        except grpc.RpcError:
            return None
        return Look(dict(zip(names, replies, strict=True)))

    def _working(self) -> Mapping[tuple[str, str], bool]:
        """Both ends of each link, and whether it should be up."""
        found = {}
        for link in self.links:
            works = frozenset((link.a, link.b)) not in self._cut and {link.a, link.b} <= self.running.keys()
            found[link.a, link.b] = found[link.b, link.a] = works
        return found

    def _parts(self) -> Iterator[frozenset[str]]:
        """The brokers that can reach one another."""
        left = set(self.running)
        working = [pair for pair, works in self._working().items() if works]
        while left:
            part = {left.pop()}
            while grown := {b for a, b in working if a in part and b not in part}:
                part |= grown
            left -= part
            yield frozenset(part)

    async def _start(self, name: str) -> None:
        configuration = self._configurations[name]
        program = await self._host.start(self._names[name], configuration.text())
        files = self._host.files(self._names[name])
        broker = self.running[name] = RunningBroker(configuration, program, files, Control(f"unix:{files.socket_here}"))
        await broker.ready(REST_WITHIN)
