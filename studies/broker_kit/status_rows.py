"""Rows of counters: what Status says, held against what clients have seen."""

from __future__ import annotations

import asyncio
import json
import time

import grpc

from broker_service.generated import broker_pb2 as pb
from studies.broker_kit.actor import Actor
from studies.broker_kit.bench import Bench
from studies.broker_kit.control import Control
from studies.broker_kit.failures import NotApplicable, RowFailure, require
from studies.broker_kit.overlay import KitLink, KitOverlay
from studies.broker_kit.rows import Rows, Suite

ROWS = Rows(Suite.STATUS)

_LEVEL = 2
_PUBLICATIONS = 40
_SLOW = 0.25
"""Seconds of delay of a link on which messages are long under way."""
_NOTICED_WITHIN = 15.0
"""Seconds in which a broker notices that a neighbour was killed; three heartbeats, on a busy machine."""


@ROWS.must("ST-1", level=_LEVEL)
async def names_itself(bench: Bench) -> None:
    """Status has the broker's name and incarnation."""
    broker = await bench.broker()
    reply = await broker.control.status()
    require(reply.broker == broker.name, f"Status of broker {broker.name} is that of {reply.broker!r}")
    wanted = broker.configuration.incarnation
    require(reply.incarnation == wanted, f"Status has incarnation {reply.incarnation}, not {wanted}")


@ROWS.must("ST-2", level=_LEVEL)
async def names_each_neighbour(bench: Bench) -> None:
    """Status names the neighbours and no other, and all are up once the overlay is connected."""
    overlay = await bench.line("B1", "B2", "B3")
    reply = await overlay.running["B2"].control.status()
    names = sorted(link.neighbour for link in reply.links)
    require(names == ["B1", "B3"], f"the neighbours of B2 are B1 and B3, and Status names {names}")
    require(all(link.up for link in reply.links), "a link is down though the overlay is connected")


@ROWS.must("ST-2", level=_LEVEL)
async def sees_that_a_neighbour_has_failed(bench: Bench) -> None:
    """A link is down once the neighbour was killed, and up again once it is back."""
    overlay = await bench.line("B1", "B2")
    await overlay.kill("B2")
    deadline = time.monotonic() + _NOTICED_WITHIN
    control = overlay.running["B1"].control
    while any(link.up for link in (await control.status()).links):
        if time.monotonic() > deadline:
            raise RowFailure(f"B2 was killed, and {_NOTICED_WITHIN:g} s later B1's link to it is still up")
        await asyncio.sleep(0.05)
    await overlay.restart("B2")
    await overlay.settle()


@ROWS.must("ST-4", level=_LEVEL)
async def counts_messages_on_links(bench: Bench) -> None:
    """At rest, what one end of a link has sent equals what the other one has received, publications included."""
    overlay = await bench.line("B1", "B2", "B3")
    await _traffic(bench, overlay)
    await overlay.settle()
    replies = {name: await broker.control.status() for name, broker in overlay.running.items()}
    for source, target in (("B1", "B2"), ("B2", "B3"), ("B2", "B1"), ("B3", "B2")):
        end, other = _end(replies[source], target), _end(replies[target], source)
        require(
            end.sent == other.received,
            f"{source} has sent {end.sent} messages to {target}, which counts {other.received}",
        )
        require(not end.queued, f"at rest, {end.queued} messages wait from {source} to {target}")
    crossed = _end(replies["B1"], "B2").publications
    require(crossed >= _PUBLICATIONS, f"{_PUBLICATIONS} publications crossed a link, of which B1 counts {crossed}")


@ROWS.must("ST-5", level=_LEVEL)
async def counts_what_clients_see(bench: Bench) -> None:
    """published, delivered and rejected grow by what clients have had accepted, notified and rejected."""
    broker = await bench.broker()
    before = await broker.control.status()
    actor = Actor(await bench.stream(), bench.name("st5-"))
    subject = bench.name("counted")
    await Actor(actor.stream, bench.name("st5-"), actor.numbers).attach(subscribed=f"[class,eq,'{subject}']")
    await actor.attach(advertised=f"[class,eq,'{subject}']", subscribed=f"[class,eq,'{subject}']")
    for number in range(_PUBLICATIONS):
        await actor.publish(f"p{number}", f"[class,'{subject}']")
    await actor.stream.rejected(await actor.publish("bad", "[class,'other']"), "it is not advertised")
    await actor.stream.acknowledgement(actor.numbers.last)
    got = len([id for _, id in await actor.stream.notified_until(f"p{_PUBLICATIONS - 1}")])
    after = await broker.control.status()
    require(after.clients, "a client is attached, and Status counts none")
    for name, wanted in (("published", _PUBLICATIONS), ("delivered", got), ("rejected", 1)):
        found = getattr(after, name) - getattr(before, name)
        require(found == wanted, f"clients saw {wanted} more, and {name} has grown by {found}")


@ROWS.must("ST-5", level=_LEVEL)
async def counters_never_fall(bench: Bench) -> None:
    """No counter falls while clients come, publish and go."""
    broker = await bench.broker()
    names = ("published", "delivered", "rejected", "dropped")
    former = [0] * len(names)
    for _ in range(3):
        actor = Actor(await bench.stream(), bench.name("st5-"))
        await actor.attach(advertised="[class,eq,'A']", subscribed="[class,eq,'A']")
        await actor.publish("p", "[class,'A']")
        await actor.stream.notified_until("p")
        await actor.stream.close()
        reply = await broker.control.status()
        found = [getattr(reply, name) for name in names]
        fallen = [name for name, new, old in zip(names, found, former, strict=True) if new < old]
        require(not fallen, f"the counter {', '.join(fallen)} has fallen")
        former = found


@ROWS.must("ST-7", level=_LEVEL)
async def comes_to_rest(bench: Bench) -> None:
    """After traffic, no counter moves and nothing waits: the overlay is found quiet."""
    overlay = await bench.line("B1", "B2", "B3")
    await _traffic(bench, overlay)
    await overlay.settle()


@ROWS.must("ST-7", level=_LEVEL)
async def holds_no_work_that_it_does_not_show(bench: Bench) -> None:
    """Once the overlay is found quiet, nothing comes to clients any more that was published before."""
    overlay = await bench.overlay(("B1", "B2"), (KitLink("B1", "B2", delay=_SLOW),))
    for attempt in range(3):
        publisher, _ = await bench.publisher_and_subscriber(overlay, ("B1", "B2"), "work")
        for number in range(_PUBLICATIONS):
            await publisher.publish(f"p{number}", "[class,'work']")
        await publisher.stream.acknowledgement(publisher.numbers.last)
        await overlay.settle()
        delivered = (await overlay.running["B2"].control.status()).delivered
        left = _PUBLICATIONS * (attempt + 1) - delivered
        require(left <= 0, f"the overlay is quiet by its counters, and {left} publications are still under way")


@ROWS.should("ST-8", level=_LEVEL)
async def shows_its_tables(bench: Bench) -> None:
    """Status has the routing tables as a JSON object when they are asked for."""
    reply = await (await bench.broker()).control.status(tables=True)
    try:
        tables = json.loads(reply.tables)
    except ValueError:
        raise RowFailure(f"the routing tables are no JSON: {reply.tables[:80]!r}") from None
    require(isinstance(tables, dict), "the routing tables are no JSON object")


@ROWS.must("ST-9", level=_LEVEL)
async def answers_unimplemented(bench: Bench) -> None:
    """A method that the broker does not offer answers UNIMPLEMENTED; one that it offers bears being asked nothing."""
    control = (await bench.broker()).control
    await _require_unimplemented(control, "NoSuchMethod", b"")
    for method, request in (("Pace", pb.ServiceTime(distribution="constant")), ("Links", pb.LinksRequest())):
        try:
            await control.call(method, request.SerializeToString())
        except grpc.RpcError as error:
            code = error.code()
            require(code is grpc.StatusCode.UNIMPLEMENTED, f"{method} asks for nothing, and answers {code.name}")


@ROWS.must("F-3", level=_LEVEL)
async def opens_a_link_again_that_it_closed(bench: Bench) -> None:
    """Reset, where it is offered, closes the stream of a link, which comes up again."""
    overlay = await bench.line("B1", "B2")
    try:
        await overlay.running["B1"].control.call("Reset", pb.ResetRequest(neighbour="B2").SerializeToString())
    except grpc.RpcError as error:
        if error.code() is grpc.StatusCode.UNIMPLEMENTED:
            raise NotApplicable("the broker does not offer Reset") from None
        raise RowFailure(f"Reset answers {error.code().name}") from None
    await overlay.settle()


async def _require_unimplemented(control: Control, method: str, request: bytes) -> None:
    try:
        await control.call(method, request)
    except grpc.RpcError as error:
        code = error.code()
        require(code is grpc.StatusCode.UNIMPLEMENTED, f"an unknown method answers {code.name}, not UNIMPLEMENTED")
        return
    raise RowFailure("an unknown method of the control service is answered")


def _end(reply: pb.StatusReply, neighbour: str) -> pb.LinkState:
    found = next((link for link in reply.links if link.neighbour == neighbour), None)
    if found is None:
        raise RowFailure(f"Status of {reply.broker} does not name the neighbour {neighbour}")
    return found


async def _traffic(bench: Bench, overlay: KitOverlay) -> None:
    """Publications from one end of a line to the other, all of which have come."""
    publisher, subscriber = await bench.publisher_and_subscriber(overlay, ("B1", "B3"), "traffic")
    for number in range(_PUBLICATIONS):
        await publisher.publish(f"p{number}", "[class,'traffic']")
    await subscriber.stream.notified_until(f"p{_PUBLICATIONS - 1}")
