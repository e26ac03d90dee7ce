"""Rows of streams: how they begin and end, what they bear, and the frames that break them."""

from __future__ import annotations

import asyncio

import grpc

from broker_service.generated import broker_pb2 as pb
from studies.broker_kit.actor import Actor
from studies.broker_kit.bench import Bench
from studies.broker_kit.configuration import MESSAGE_BYTES
from studies.broker_kit.content import predicates, publication
from studies.broker_kit.failures import RowFailure, require
from studies.broker_kit.raw_stream import Operation, RawStream, request
from studies.broker_kit.rows import Rows, Suite

ROWS = Rows(Suite.SESSION)

_INVALID = grpc.StatusCode.INVALID_ARGUMENT
_LONG = 256
_STREAMS = 100
_CLIENTS = 1_000
_UNREAD_BODY = 500_000
_UNREAD = 400
"""Publications of that size that a client does not read: 200 MB."""
_AHEAD = 4
"""Publications that may be under way to a client that reads."""
_MOST_GROWTH = 150 << 20


@ROWS.must("S-1")
async def begins_with_a_welcome(bench: Bench) -> None:
    """The broker speaks first: a Welcome with its incarnation, alone in its frame."""
    broker = await bench.broker()
    stream = RawStream.open(broker.address)
    frame = await stream.frame()
    await stream.close()
    require(frame.HasField("welcome"), "the first frame of the broker has no welcome")
    require(not frame.events and not frame.acknowledged, "the frame of the welcome has more in it")
    wanted = broker.configuration.incarnation
    require(
        frame.welcome.incarnation == wanted, f"the welcome states incarnation {frame.welcome.incarnation}, not {wanted}"
    )


@ROWS.must("S-2")
async def bears_a_session_without_a_name(bench: Bench) -> None:
    """A stream whose client names no session is served."""
    stream = await bench.stream(session="")
    actor = Actor(stream, bench.name("s2-"))
    await actor.attach(advertised="[class,eq,'A']", subscribed="[class,eq,'A']")
    await actor.publish("p", "[class,'A']")
    await stream.notified_until("p")


@ROWS.must("A-2")
async def takes_no_repeats_in_sessions_without_a_name(bench: Bench) -> None:
    """Publications of two sessions without a name are both routed, though their numbers are equal."""
    watcher = await _watcher(bench, "unnamed")
    for id in ("p1", "p2"):
        stream = await bench.stream(session="")
        actor = Actor(stream, bench.name("a2-"))
        await actor.attach(advertised="[class,eq,'unnamed']")
        await actor.publish(id, "[class,'unnamed']")
        await stream.acknowledgement(actor.numbers.last)
    await watcher.stream.notified_until("p1")
    await watcher.stream.notified_until("p2")


@ROWS.should("S-3")
async def bears_many_streams(bench: Bench) -> None:
    """A hundred streams are open at a time, each on a connection of its own."""
    streams = await asyncio.gather(*(bench.stream() for _ in range(_STREAMS)))
    for number, stream in enumerate(streams):
        await Actor(stream, f"s3-{number}").attach()


@ROWS.should("S-3")
async def bears_many_clients_of_a_stream(bench: Bench) -> None:
    """A thousand clients share one stream, and each is notified."""
    stream = await bench.stream()
    names = [bench.name("many-") for _ in range(_CLIENTS)]
    body = predicates("[class,eq,'many']")
    attach = [request(name, 1, Operation.OPERATION_ATTACH) for name in names]
    subscribe = [request(name, 2, Operation.OPERATION_SUBSCRIBE, "s", body) for name in names]
    await stream.send(*attach, *subscribe)
    await stream.confirmed(*[1] * len(names), *[2] * len(names))
    publisher = Actor(await bench.stream(), bench.name("s3-"))
    await publisher.attach(advertised="[class,eq,'many']")
    await publisher.publish("p", "[class,'many']")
    notified: set[str] = set()
    while len(notified) < len(names):
        notified.update((await stream.notification()).clients)


@ROWS.must("S-4")
async def refuses_bytes_that_are_no_frame(bench: Bench) -> None:
    """A frame that cannot be decoded ends its stream with INVALID_ARGUMENT."""
    await _require_refused(bench, b"\xff\xff\xff\xff no frame")


@ROWS.must("S-4")
async def refuses_an_unknown_operation(bench: Bench) -> None:
    """A frame with an unknown operation ends its stream with INVALID_ARGUMENT, and nothing in it is carried out."""
    client = bench.name("s4-")
    frame = pb.ClientFrame(requests=[request(client, 1, Operation.OPERATION_ATTACH), request(client, 2, 77, "x")])
    await _require_refused(bench, frame.SerializeToString())


@ROWS.must("S-4")
async def refuses_the_operation_zero(bench: Bench) -> None:
    """A frame with a request that names no operation ends its stream with INVALID_ARGUMENT."""
    await _require_refused(bench, pb.ClientFrame(requests=[request("c", 1, 0)]).SerializeToString())


@ROWS.must("S-4")
async def refuses_a_frame_of_too_many_requests(bench: Bench) -> None:
    """A frame of 4,097 requests ends its stream with INVALID_ARGUMENT."""
    client = bench.name("s4-")
    requests = [request(client, number, Operation.OPERATION_ATTACH) for number in range(1, 4098)]
    await _require_refused(bench, pb.ClientFrame(requests=requests).SerializeToString())


@ROWS.must("S-4")
async def bears_a_frame_of_4096_requests(bench: Bench) -> None:
    """A frame of 4,096 requests is carried out."""
    stream = await bench.stream()
    client = bench.name("s4-")
    numbers = range(1, 4097)
    await stream.send(*(request(client, number, Operation.OPERATION_ATTACH) for number in numbers))
    await stream.confirmed(*numbers)


@ROWS.must("S-4")
async def refuses_a_client_with_a_long_name(bench: Bench) -> None:
    """A client's name of 257 characters ends its stream with INVALID_ARGUMENT."""
    await _require_refused(bench, _frame_with("c" * (_LONG + 1), "x"))


@ROWS.must("S-4")
async def refuses_a_long_id(bench: Bench) -> None:
    """An id of 257 characters ends its stream with INVALID_ARGUMENT."""
    await _require_refused(bench, _frame_with("c", "x" * (_LONG + 1)))


@ROWS.must("S-4")
async def refuses_a_session_with_a_long_name(bench: Bench) -> None:
    """A session's name of 257 characters ends its stream with INVALID_ARGUMENT."""
    await _require_refused(bench, pb.ClientFrame(session="s" * (_LONG + 1)).SerializeToString())


@ROWS.must("S-4")
async def counts_names_in_code_points(bench: Bench) -> None:
    """Names of 256 code points are taken, those of four bytes each as well."""
    stream = await bench.stream(session="😀" * _LONG)
    actor = Actor(stream, "😀" * _LONG)
    await actor.attach()
    await actor.subscribe("😀" * _LONG, "[class,eq,'A']")


@ROWS.must("S-4")
async def refuses_a_frame_that_is_too_large(bench: Bench) -> None:
    """A frame of more than limits.message_bytes ends its stream."""
    stream = await bench.stream()
    await stream.send(request("c", 1, Operation.OPERATION_SUBSCRIBE, "s", bytes(MESSAGE_BYTES + 1)))
    code = await stream.status()
    require(code is not grpc.StatusCode.OK, "a frame that is too large ends its stream with the status OK")
    await _require_serving(bench)


@ROWS.must("S-6")
async def closes_its_side_when_the_client_does(bench: Bench) -> None:
    """A stream that its client closes is closed by the broker, too, with the status OK."""
    stream = await bench.stream()
    await Actor(stream, bench.name("s6-")).attach()
    await stream.close_own_side()
    code = await stream.status()
    require(
        code is grpc.StatusCode.OK, f"the broker ends a stream that its client closed with {code.name}, not with OK"
    )


@ROWS.must("S-6", level=2)
async def withdraws_the_clients_of_a_stream_that_is_closed(bench: Bench) -> None:
    """The clients of a stream that its client has closed are detached."""
    stream, name = await _subscriber(bench)
    await stream.close_own_side()
    await stream.status()
    await _require_withdrawn(bench, name)


@ROWS.must("S-6", level=2)
async def withdraws_the_clients_of_a_stream_that_breaks(bench: Bench) -> None:
    """The clients of a stream that was cancelled are detached."""
    stream, name = await _subscriber(bench)
    stream.break_off()
    await _require_withdrawn(bench, name)


@ROWS.must("S-6", level=2)
async def withdraws_the_clients_of_a_connection_that_is_lost(bench: Bench) -> None:
    """The clients of a stream whose connection has ended are detached."""
    stream, name = await _subscriber(bench)
    await stream.close()
    await _require_withdrawn(bench, name)


@ROWS.must("S-7", within=180.0)
async def bears_a_client_that_does_not_read(bench: Bench) -> None:
    """A client that does not read costs bounded memory, and delays no other."""
    broker = await bench.broker()
    subject = bench.name("unread")
    slow = await bench.stream(broker, reads=False)
    name = bench.name("s7-")
    text = f"[class,eq,'{subject}']"
    await slow.send(
        request(name, 1, Operation.OPERATION_ATTACH),
        request(name, 2, Operation.OPERATION_SUBSCRIBE, "s", predicates(text)),
    )
    await slow.take_unread(1)  # the welcome
    answered = 0
    while answered < 2:
        answered += len((await slow.take_unread(1))[0].events)
    publisher = Actor(await bench.stream(broker), bench.name("s7-"))
    await publisher.attach(advertised=f"[class,eq,'{subject}'],[padding,isPresent,'']", subscribed=text)
    before, body = broker.program.memory(), publication(f"[class,'{subject}'],[padding,'{'x' * _UNREAD_BODY}']")
    for number in range(_UNREAD):
        await publisher.do(Operation.OPERATION_PUBLISH, f"p{number}", body)
        if number >= _AHEAD:
            await publisher.stream.notified_until(f"p{number - _AHEAD}")
    await publisher.stream.notified_until(f"p{_UNREAD - 1}")
    await broker.require_running()
    growth = broker.program.memory() - before
    unread = _UNREAD * _UNREAD_BODY >> 20
    require(
        growth < _MOST_GROWTH, f"a client has not read {unread} MiB, and the broker has grown by {growth >> 20} MiB"
    )


def _frame_with(client: str, id: str) -> bytes:
    made = request(client, 1, Operation.OPERATION_SUBSCRIBE, id, predicates("[class,eq,'A']"))
    return pb.ClientFrame(requests=[made]).SerializeToString()


async def _require_refused(bench: Bench, frame: bytes) -> None:
    stream = await bench.stream()
    await stream.send_bytes(frame)
    try:
        event = await stream.event()
    except RowFailure:
        event = None
    require(event is None, "the broker answers a frame that it should refuse as a whole")
    code = await stream.status()
    require(code is _INVALID, f"the stream should end with INVALID_ARGUMENT, and ends with {code.name}")
    await _require_serving(bench)


async def _require_serving(bench: Bench) -> None:
    """Raises `RowFailure` unless the broker serves another stream."""
    await (await bench.broker()).require_running()
    await Actor(await bench.stream(), bench.name("s4-")).attach()


async def _watcher(bench: Bench, subject: str) -> Actor:
    """A subscriber of a class."""
    actor = Actor(await bench.stream(), bench.name("watcher-"))
    await actor.attach(subscribed=f"[class,eq,'{subject}']")
    return actor


async def _subscriber(bench: Bench) -> tuple[RawStream, str]:
    await bench.end_shared()
    broker = await bench.broker()
    stream = await bench.stream(broker)
    name = bench.name("s6-")
    await Actor(stream, name).attach(subscribed="[class,eq,'A']")
    clients = (await broker.control.status()).clients
    require(clients == 1, f"one client is attached, and Status counts {clients}")
    return stream, name


async def _require_withdrawn(bench: Bench, name: str) -> None:
    """Raises `RowFailure` unless the broker's only client is gone soon."""
    broker = await bench.broker()
    for _ in range(100):
        if not (await broker.control.status()).clients:
            return
        await asyncio.sleep(0.05)
    raise RowFailure(f"the stream of client {name} has ended, and Status still counts it")
