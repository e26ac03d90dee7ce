"""Rows of the wire (W): the broker against a neighbour that the kit plays, and among brokerlab's own brokers.

They are for brokers that declare a routing protocol (`--protocol cbf`). None of them reads its headers.
"""

from __future__ import annotations

import asyncio
import socket
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import grpc

from broker_service.generated import broker_pb2 as pb
from studies.broker_kit.actor import Actor
from studies.broker_kit.bench import Bench
from studies.broker_kit.configuration import HEARTBEAT, Configuration, LinkEnd
from studies.broker_kit.content import predicates
from studies.broker_kit.failures import NotApplicable, require
from studies.broker_kit.overlay import LINK_PORT, KitLink, KitOverlay
from studies.broker_kit.programs import CommandHost, Files, Host, Program
from studies.broker_kit.raw_link import Door, RawLink
from studies.broker_kit.rows import Rows, Suite

ROWS = Rows(Suite.WIRE)

_NEIGHBOUR = "N"
_RARE_BEATS = 30.0
"""Seconds between beats where a row looks at what travels without them."""
_WINDOW = 4
_SILENCE = 1.0
"""Seconds in which nothing may come."""
_DECLARED = 10


class Wired:
    """A broker with one link, whose neighbour, which dials, is the kit."""

    def __init__(self, protocol: str, door: Door, actor: Actor) -> None:
        self.actor = actor
        self._protocol = protocol
        self._door = door
        self._links: list[RawLink] = []

    async def greet(self, **fields: Any) -> RawLink:
        """A new stream on which the neighbour has said hello, with some fields that differ."""
        usual: dict[str, Any] = {
            "broker": _NEIGHBOUR, "incarnation": 1, "protocol": self._protocol, "appearance": 1,
        }  # fmt: skip
        hello = pb.Hello(**(usual | fields))
        link = RawLink.open(self._door.address)
        self._links.append(link)
        await link.send(pb.LinkFrame(hello=hello))
        return link

    async def opened(self, **fields: Any) -> RawLink:
        """A new stream on which both ends have said hello."""
        link = await self.greet(**fields)
        await link.hello()
        return link

    async def declare(self, first: int, count: int) -> None:
        """Has a client of the broker advertise and subscribe anew, of which its neighbour is to be told."""
        for number in range(first, first + count):
            await self.actor.advertise(f"a{number}", f"[class,eq,'A'],[x,=,{number}]")
            await self.actor.subscribe(f"s{number}", f"[class,eq,'A'],[x,=,{number}]")

    async def close(self) -> None:
        """Ends the streams of the link."""
        for link in self._links:
            await link.close()
        await self._door.close()


@asynccontextmanager
async def _wired(bench: Bench, **limits: float) -> AsyncIterator[Wired]:
    protocol = bench.wire
    if protocol is None:
        raise NotApplicable("the broker declares no routing protocol of brokerlab's; --protocol names one")
    block = bench.block()
    local, remote = block.address(0, 1), block.address(0, 2)
    configuration = bench.configuration()
    bounds: dict[str, Any] = {"heartbeat": HEARTBEAT, "reconnect_first": 0.05, "reconnect_last": 0.2, **limits}
    ends = [LinkEnd(_NEIGHBOUR, f"{local}:{LINK_PORT}", f"{remote}:{LINK_PORT}", dial=False)]
    broker = await bench.start(replace(configuration, links=ends, further={"limits": bounds}))
    door = Door(bench.host, remote, (local, LINK_PORT))
    await door.open()
    actor = Actor(await bench.stream(broker), "w")
    await actor.attach()
    wired = Wired(protocol, door, actor)
    try:
        yield wired
    finally:
        await wired.close()
        await broker.kill()


def _beat(acknowledged: int) -> pb.LinkFrame:
    return pb.LinkFrame(acknowledged=acknowledged)


@ROWS.must("W-1")
async def serves_the_link(bench: Bench) -> None:
    """A neighbour that dials the local address of its link and says hello is answered by a hello."""
    async with _wired(bench) as wired:
        await (await wired.greet()).hello()


@ROWS.must("W-2")
async def says_who_it_is(bench: Bench) -> None:
    """The hello of the broker comes alone, and has its incarnation, its protocol and the appearance of the link."""
    async with _wired(bench) as wired:
        hello = await (await wired.greet()).hello()
        found = (hello.incarnation, hello.protocol, hello.appearance or 1, hello.handled)
        wanted = (1, bench.wire, 1, 0)
        require(found == wanted, f"its hello has incarnation, protocol, appearance and handled {found}, not {wanted}")


async def _require_refused(bench: Bench, **fields: Any) -> None:
    """A hello with these fields is refused, and the open stream of incarnation 2 stays."""
    async with _wired(bench) as wired:
        link = await wired.opened(incarnation=2)
        refused = await wired.greet(**({"incarnation": 2} | fields))
        status = await refused.status()
        require(
            status is grpc.StatusCode.FAILED_PRECONDITION,
            f"a hello with {fields} ends the stream with {status.name}, not with FAILED_PRECONDITION",
        )
        await wired.declare(0, 1)
        await link.messages(1)


@ROWS.must("W-2")
async def refuses_a_hello_of_another_protocol(bench: Bench) -> None:
    """A neighbour of another routing protocol is refused with FAILED_PRECONDITION."""
    await _require_refused(bench, protocol="no such routing")


@ROWS.must("W-2")
async def refuses_a_hello_of_a_stranger(bench: Bench) -> None:
    """A broker that is not the neighbour is refused with FAILED_PRECONDITION, and the neighbour's stream stays."""
    await _require_refused(bench, broker="a stranger")


@ROWS.must("W-2")
async def refuses_a_hello_of_another_appearance(bench: Bench) -> None:
    """An end of another appearance of the link is refused with FAILED_PRECONDITION."""
    await _require_refused(bench, appearance=2)


@ROWS.must("W-2")
async def refuses_a_hello_of_a_former_incarnation(bench: Bench) -> None:
    """A former incarnation of the neighbour is refused with FAILED_PRECONDITION."""
    await _require_refused(bench, incarnation=1)


@ROWS.must("W-3")
async def sends_again_what_was_not_handled(bench: Bench) -> None:
    """After a stream that broke, exactly those messages travel again, in order, that the neighbour has not handled."""
    async with _wired(bench, heartbeat=_RARE_BEATS) as wired:
        link = await wired.opened()
        await wired.declare(0, 3)
        sent = await link.messages(3)
        await link.close()
        again = await wired.opened(neighbour_incarnation=1, handled=1)
        found = await again.messages(len(sent) - 1)
        require(
            [each.SerializeToString() for each in found] == [each.SerializeToString() for each in sent[1:]],
            f"{len(sent)} messages were sent, the neighbour has handled one, and others travel again than the rest",
        )
        require(not await again.messages_within(_SILENCE), "messages travel again that were handled")


@ROWS.must("W-3")
async def tells_a_new_incarnation_everything(bench: Bench) -> None:
    """A neighbour of a new incarnation is told anew what the former one was told."""
    async with _wired(bench) as wired:
        link = await wired.opened()
        await wired.declare(0, 1)
        await link.messages(1)
        await link.close()
        again = await wired.opened(incarnation=2)
        await again.messages(1)


@ROWS.must("W-4")
async def keeps_the_window(bench: Bench) -> None:
    """No more messages are in flight than `limits.window`; what is acknowledged makes room."""
    async with _wired(bench, window=_WINDOW, heartbeat=_RARE_BEATS) as wired:
        link = await wired.opened()
        await wired.declare(0, _DECLARED)
        first = await link.messages(_WINDOW)
        more = await link.messages_within(_SILENCE)
        found = len(first) + len(more)
        require(found == _WINDOW, f"{found} messages are in flight with a window of {_WINDOW}")
        await link.send(_beat(2))
        require(len(await link.messages(2)) == 2, "more messages came than the acknowledgement has made room for")


@ROWS.must("W-4")
async def acknowledges_without_a_beat(bench: Bench) -> None:
    """A message that was handled is acknowledged soon, though no beat is due."""
    async with _wired(bench, heartbeat=_RARE_BEATS) as wired:
        link = await wired.opened()
        body = predicates("[class,eq,'B']")
        message = pb.Message(kind=pb.SUBSCRIBE, id="from the neighbour", body=body, hops=1)
        await link.send(pb.LinkFrame(messages=[message]))
        while (await link.frame("the acknowledgement of a message")).acknowledged != 1:
            pass


@ROWS.must("W-5")
async def beats(bench: Bench) -> None:
    """An open link carries a frame at every beat, though there is nothing to say."""
    async with _wired(bench) as wired:
        link = await wired.opened()
        for _ in range(5):
            await link.frame("a beat")
            await link.send(_beat(0))


@ROWS.must("W-5")
async def gives_a_silent_neighbour_up(bench: Bench) -> None:
    """A stream on which the neighbour is silent for three beats ends."""
    async with _wired(bench) as wired:
        link = await wired.opened()
        await link.status()


@ROWS.must("W-6", within=120.0)
async def routes_among_native_brokers(bench: Bench) -> None:
    """Between two of brokerlab's brokers that route by its protocol, it passes on what is wanted, once."""
    async with _among_native(bench, "M1", "K", "M2") as overlay:
        actors = {}
        for name, broker in overlay.running.items():
            actors[name] = Actor(await bench.stream(broker), f"client of {name}")
            await actors[name].attach(advertised="[class,eq,'A'],[x,>,0]", subscribed="[class,eq,'A'],[x,>,3]")
        await overlay.settle()
        for name, actor in actors.items():
            for number in range(1, 7):
                await actor.publish(f"{name}-{number}", f"[class,'A'],[x,{number}]")
        await overlay.settle()
        wanted = sorted(f"{name}-{number}" for name in actors for number in (4, 5, 6))
        for name, actor in actors.items():
            found = sorted([(await actor.stream.notification()).id for _ in wanted])
            require(found == wanted, f"a client at {name} is notified of {found}, not of {wanted}")


@asynccontextmanager
async def _among_native(bench: Bench, *brokers: str) -> AsyncIterator[KitOverlay]:
    """A line of brokers, of which those whose names begin with M are brokerlab's."""
    if bench.wire is None:
        raise NotApplicable("the broker declares no routing protocol of brokerlab's; --protocol names one")
    if bench.host.confined:
        raise NotApplicable("brokerlab's brokers do not run within the network of the image; a mixed scenario shows it")
    with tempfile.TemporaryDirectory(prefix="kit-") as directory:
        native = CommandHost(
            [sys.executable, "-m", "broker_service"], Path(directory), {"PYTHONPATH": str(Path(__file__).parents[2])}
        )
        host = _Both(bench.host, native)
        links = [KitLink(a, b) for a, b in pairwise(brokers)]
        overlay = KitOverlay(host, brokers, links, lambda name: host.configured(bench, name), bench.level)
        try:
            await overlay.start()
            yield overlay
        finally:
            await overlay.close()
            await asyncio.shield(native.close())


class _Both(Host):
    """The host of the broker that is judged, and that of native ones."""

    confined = False

    def __init__(self, judged: Host, native: Host) -> None:
        self._judged = judged
        self._native = native

    def configured(self, bench: Bench, name: str) -> Configuration:
        """The configuration of a broker, with the files that its host gives it."""
        files = self.files(name)
        return replace(bench.configuration(name), socket=files.socket, stored=files.stored, log="")

    def files(self, broker: str) -> Files:
        return self._of(broker).files(broker)

    async def start(self, broker: str, configuration: str) -> Program:
        return await self._of(broker).start(broker, configuration)

    def make_socket(self) -> socket.socket:
        return self._judged.make_socket()

    async def close(self) -> None:
        await self._native.close()

    def _of(self, broker: str) -> Host:
        return self._native if broker.startswith("M") else self._judged
