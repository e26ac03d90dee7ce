"""The bench of a broker: where rows get their brokers, streams and overlays from."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import count, pairwise
from typing import Any

from emulation.host.loopback_block import LoopbackBlock
from studies.broker_kit.actor import Actor
from studies.broker_kit.configuration import Configuration
from studies.broker_kit.control import Control
from studies.broker_kit.overlay import KitLink, KitOverlay, RunningBroker
from studies.broker_kit.programs import Host, configured
from studies.broker_kit.raw_stream import RawStream

FOREIGN = "foreign"
"""The `protocol` of brokers that speak with none of brokerlab's."""
START_WITHIN = 20.0
"""Seconds in which a broker opens its socket at the latest."""


@dataclass(frozen=True, slots=True)
class Judged:
    """The broker that is judged, as the user describes it."""

    level: int
    protocol: str = FOREIGN


class Bench:
    """One broker that most rows share, and further ones and overlays for those that need them."""

    def __init__(self, host: Host, judged: Judged) -> None:
        self.host = host
        self.level = judged.level
        self._judged = judged
        self._numbers = count(1)
        self._shared: RunningBroker | None = None
        self._streams: list[RawStream] = []
        self._overlay: tuple[object, KitOverlay] | None = None
        self._blocks: list[LoopbackBlock] = []

    @property
    def wire(self) -> str | None:
        """The routing protocol of brokerlab's that it declares to speak on links; None without one."""
        return None if self._judged.protocol == FOREIGN else self._judged.protocol

    # Brokers

    async def broker(self) -> RunningBroker:
        """A broker without neighbours that earlier rows may have used."""
        if self._shared is not None and await self._shared.program.ending(0.0) is None:
            return self._shared
        self._shared = await self.start(self.configuration())
        return self._shared

    def configuration(self, name: str | None = None, **further: Any) -> Configuration:
        """The configuration of a broker of its own, with fields that are added or replaced."""
        name = name or f"K{next(self._numbers)}"
        files = self.host.files(name)
        log = files.log if self.level >= LOGS_LEVEL else ""
        return replace(configured(name, files, self._judged.protocol), log=log, further=further)

    async def start(self, configuration: Configuration) -> RunningBroker:
        """Starts a broker, and returns once it serves. Raises `RowFailure`."""
        running = await self.launch(configuration)
        await running.ready(START_WITHIN)
        return running

    async def launch(self, configuration: Configuration, text: str | None = None) -> RunningBroker:
        """Starts a broker, and does not wait; `text` stands for another content of its file."""
        program = await self.host.start(configuration.id, configuration.text() if text is None else text)
        files = self.host.files(configuration.id)
        return RunningBroker(configuration, program, files, Control(f"unix:{files.socket_here}"))

    def block(self) -> LoopbackBlock:
        """Loopback addresses that nothing else uses until the bench is closed. Raises `HostError`."""
        self._blocks.append(LoopbackBlock(self.host.make_socket))
        return self._blocks[-1]

    # Streams

    async def stream(self, broker: RunningBroker | None = None, session: str | None = None, **how: bool) -> RawStream:
        """A stream of a session, to the shared broker where none is named; its welcome has come. None: a new session;
        an empty name: none."""
        broker = broker or await self.broker()
        stream = RawStream.open(broker.address, **how)
        self._streams.append(stream)
        if how.get("reads", True):
            await stream.welcome()
        if session != "":
            await stream.send(session=session or secrets.token_hex(8))
        return stream

    def name(self, word: str) -> str:
        """A name that no earlier row has used."""
        return f"{word}{next(self._numbers)}"

    # Overlays

    async def overlay(self, brokers: Sequence[str], links: Sequence[KitLink]) -> KitOverlay:
        """Brokers that are linked and connected; those of the call before, where they are as new."""
        wanted = tuple(brokers), tuple(links)
        if self._overlay is not None:
            known, overlay = self._overlay
            if known == wanted and await overlay.as_new():
                return overlay
            await self.end_overlay()
        overlay = KitOverlay(self.host, brokers, links, self.configuration, self.level)
        self._overlay = wanted, overlay
        await overlay.start()
        return overlay

    async def line(self, *brokers: str) -> KitOverlay:
        """A line of brokers."""
        links = [KitLink(a, b) for a, b in pairwise(brokers)]
        return await self.overlay(brokers, links)

    async def publisher_and_subscriber(
        self, overlay: KitOverlay, at: tuple[str, str], word: str
    ) -> tuple[Actor, Actor]:
        """Clients at two brokers that publish and get contents of the class `word`, once the overlay knows of both."""
        publisher = Actor(await self.stream(overlay.running[at[0]]), self.name("publisher-"))
        subscriber = Actor(await self.stream(overlay.running[at[1]]), self.name("subscriber-"))
        await publisher.attach(advertised=f"[class,eq,'{word}']")
        await subscriber.attach(subscribed=f"[class,eq,'{word}']")
        await overlay.settle()
        return publisher, subscriber

    async def end_overlay(self) -> None:
        """Ends the overlay, so that the next row gets a new one."""
        kept, self._overlay = self._overlay, None
        if kept is not None:
            await kept[1].close()

    # The end

    async def clear(self, *, failed: bool) -> None:
        """Closes what a row has left open; after a failure, no other row uses its brokers."""
        for stream in self._streams:
            await stream.close()
        self._streams.clear()
        if failed:
            await self.end_overlay()
            await self.end_shared()

    async def end_shared(self) -> None:
        """Ends the broker that rows share."""
        shared, self._shared = self._shared, None
        if shared is not None:
            await shared.kill()

    async def endings(self) -> str:
        """The end of a broker that has ended by itself, in words; empty without any."""
        running = [] if self._overlay is None else list(self._overlay[1].running.values())
        for broker in (*running, *([] if self._shared is None else [self._shared])):
            if (ending := await broker.program.ending(0.0)) is not None:
                return f"broker {broker.name} has ended: {ending}"
        return ""

    async def close(self) -> None:
        """Ends everything."""
        await self.clear(failed=True)
        await self.host.close()
        for block in self._blocks:
            block.close()


LOGS_LEVEL = 3
