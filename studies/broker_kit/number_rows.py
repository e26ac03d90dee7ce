"""Rows of numbered notifications and of acknowledgements by clients, which a broker need not offer."""

from __future__ import annotations

import grpc

from broker_service.generated import broker_pb2 as pb
from studies.broker_kit.actor import Actor
from studies.broker_kit.bench import Bench
from studies.broker_kit.failures import NotApplicable, require
from studies.broker_kit.raw_stream import Operation, RawStream
from studies.broker_kit.rows import Rows, Suite

ROWS = Rows(Suite.SESSION)

_INVALID = grpc.StatusCode.INVALID_ARGUMENT
_BEYOND = 1_000_000
"""A number far beyond those of any notification here."""


@ROWS.must("S-30")
async def numbers_notifications_one_by_one(bench: Bench) -> None:
    """Notifications of a session that asks for numbers have 1, 2, 3, ..., whichever of its clients they are for."""
    stream = await _numbered(bench, bench.name("session-"))
    both, one = bench.name("both"), bench.name("one")
    actor, other = Actor(stream, bench.name("s30-")), Actor(stream, bench.name("s30-"))
    await actor.attach(advertised="[class,isPresent,'']", subscribed={"s": f"[class,eq,'{both}']"})
    await other.attach(subscribed={"s": f"[class,eq,'{both}']", "t": f"[class,eq,'{one}']"})
    got = []
    for id, subject in (("p1", both), ("p2", one), ("p3", both), ("p4", one)):
        await actor.publish(id, f"[class,'{subject}']")
        got += await _numbers_until(stream, id)
    _require_offered(got)
    require(got == list(range(1, len(got) + 1)), f"numbers of notifications should be 1, 2, 3, ..., and are {got}")


@ROWS.must("S-30")
async def numbers_nothing_without_being_asked(bench: Bench) -> None:
    """Notifications of a session that does not ask for numbers have number 0."""
    actor = await _subscriber(bench, await bench.stream())
    await actor.publish("p", f"[class,'{actor.name}']")
    got = await _numbers_until(actor.stream, "p")
    require(got == [0], f"the session has not asked for numbers, and a notification has the number {got[0]}")


@ROWS.must("S-30")
async def goes_on_numbering_on_the_next_stream(bench: Bench) -> None:
    """The first number on a further stream of a session is the next one, whatever the former stream came to."""
    session = bench.name("session-")
    former = await _subscriber(bench, await _numbered(bench, session))
    for id in ("p1", "p2"):
        await former.publish(id, f"[class,'{former.name}']")
    got = await _numbers_until(former.stream, "p2")
    _require_offered(got)
    former.stream.break_off()
    actor = Actor(await _numbered(bench, session), former.name, former.numbers)
    await actor.attach(advertised=f"[class,eq,'{actor.name}']", subscribed=f"[class,eq,'{actor.name}']")
    await actor.publish("p3", f"[class,'{actor.name}']")
    (first,) = await _numbers_until(actor.stream, "p3")
    require(
        first == got[-1] + 1, f"the former stream ended with number {got[-1]}, and the next one begins with {first}"
    )


@ROWS.must("S-31")
async def bears_acknowledgements(bench: Bench) -> None:
    """A client may acknowledge what has come, in a frame of its own and with requests, once and again."""
    actor, latest = await _notified(bench)
    await actor.stream.send_bytes(pb.ClientFrame(acknowledged=latest).SerializeToString())
    made = actor.request(Operation.OPERATION_UNSUBSCRIBE, "s")
    await actor.stream.send_bytes(pb.ClientFrame(requests=[made], acknowledged=latest).SerializeToString())
    await actor.stream.confirmed(made.number)


@ROWS.must("S-31")
async def refuses_the_acknowledgement_of_what_it_has_not_sent(bench: Bench) -> None:
    """An acknowledgement beyond what the broker has sent ends the stream with INVALID_ARGUMENT."""
    actor, _ = await _notified(bench)
    await actor.stream.send_bytes(pb.ClientFrame(acknowledged=_BEYOND).SerializeToString())
    code = await actor.stream.status()
    require(code is _INVALID, f"the stream should end with INVALID_ARGUMENT, and ends with {code.name}")
    await (await bench.broker()).require_running()


async def _numbered(bench: Bench, session: str) -> RawStream:
    """A stream of a session that asks for numbers."""
    stream = await bench.stream(session="")
    await stream.send_bytes(pb.ClientFrame(session=session, numbered=True).SerializeToString())
    return stream


async def _subscriber(bench: Bench, stream: RawStream) -> Actor:
    """A client that publishes in a class of its name, to which it subscribes."""
    actor = Actor(stream, bench.name("s30-"))
    await actor.attach(advertised=f"[class,eq,'{actor.name}']", subscribed=f"[class,eq,'{actor.name}']")
    return actor


async def _notified(bench: Bench) -> tuple[Actor, int]:
    """A client with a numbered notification, and its number."""
    actor = await _subscriber(bench, await _numbered(bench, bench.name("session-")))
    await actor.publish("p", f"[class,'{actor.name}']")
    got = await _numbers_until(actor.stream, "p")
    _require_offered(got)
    return actor, got[-1]


async def _numbers_until(stream: RawStream, id: str) -> list[int]:
    """The numbers of the notifications that come up to that of a publication."""
    numbers = []
    while True:
        event = await stream.notification()
        numbers.append(event.number)
        if event.id == id:
            return numbers


def _require_offered(numbers: list[int]) -> None:
    """Raises `NotApplicable` for a broker that leaves all numbers 0."""
    if not any(numbers):
        raise NotApplicable("the broker does not number notifications")
