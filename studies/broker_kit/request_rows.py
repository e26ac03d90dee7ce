"""Rows of requests: answers, attached clients, declarations and their withdrawal."""

from __future__ import annotations

from collections.abc import Callable

from broker_service.generated import content_pb2 as content
from studies.broker_kit.actor import Actor
from studies.broker_kit.bench import Bench
from studies.broker_kit.content import predicates, publication
from studies.broker_kit.failures import require
from studies.broker_kit.raw_stream import CONFIRMED, REJECTED, Operation, request
from studies.broker_kit.rows import Rows, Suite

ROWS = Rows(Suite.SESSION)

_ATTACH, _DETACH = Operation.OPERATION_ATTACH, Operation.OPERATION_DETACH
_ADVERTISE, _UNADVERTISE = Operation.OPERATION_ADVERTISE, Operation.OPERATION_UNADVERTISE
_SUBSCRIBE, _UNSUBSCRIBE = Operation.OPERATION_SUBSCRIBE, Operation.OPERATION_UNSUBSCRIBE
_A, _B = "[class,eq,'A']", "[class,eq,'B']"


@ROWS.must("S-9")
async def answers_in_the_order_of_the_requests(bench: Bench) -> None:
    """Each request is answered by one event, in their order, rejections among confirmations."""
    stream = await bench.stream()
    client = bench.name("s9-")
    await stream.send(
        request(client, 11, _ATTACH), request(client, 5, _SUBSCRIBE, "s", predicates(_A)),
        request(client, 9, _UNSUBSCRIBE, "other"), request(client, 2, _ADVERTISE, "a", predicates(_A)),
    )  # fmt: skip
    outcomes = [(await stream.answer(number)).outcome for number in (11, 5, 9, 2)]
    require(
        outcomes == [CONFIRMED, CONFIRMED, REJECTED, CONFIRMED], "the third of four requests should be rejected alone"
    )


@ROWS.must("S-9")
async def names_the_request_that_it_answers(bench: Bench) -> None:
    """An answer has the number, the id and the client of its request, and a rejection a reason."""
    stream = await bench.stream()
    client = bench.name("s9-")
    await stream.send(request(client, 1, _ATTACH), request(client, 2, _SUBSCRIBE, "the id", predicates(_A)))
    await stream.send(request(client, 3, _UNSUBSCRIBE, "unknown"))
    await stream.confirmed(1)
    confirmed = await stream.answer(2)
    require(list(confirmed.clients) == [client], f"the answer to a request of {client} names {list(confirmed.clients)}")
    require(confirmed.id == "the id", f"the answer to the request of 'the id' has the id {confirmed.id!r}")
    rejected = await stream.rejected(3, "there is no such subscription")
    require(rejected.id == "unknown", f"the rejection of the request of 'unknown' has the id {rejected.id!r}")
    require(rejected.reason, "a rejection has no reason")


@ROWS.must("S-10")
async def carries_out_requests_of_number_0(bench: Bench) -> None:
    """Requests of number 0, several in a frame, are carried out and answered with 0."""
    stream = await bench.stream()
    client = bench.name("s10-")
    await stream.send(
        request(client, 0, _ATTACH), request(client, 0, _ADVERTISE, "a", predicates(_A)),
        request(client, 0, _SUBSCRIBE, "s", predicates(_A)),
    )  # fmt: skip
    await stream.confirmed(0, 0, 0)
    await stream.send(request(client, 1, Operation.OPERATION_PUBLISH, "p", publication("[class,'A']")))
    await stream.notified_until("p")


@ROWS.must("S-11")
async def rejects_requests_of_a_client_that_is_not_attached(bench: Bench) -> None:
    """A request of a client that is not attached is rejected, publications too."""
    stream = await bench.stream()
    client = bench.name("s11-")
    await stream.send(
        request(client, 1, _SUBSCRIBE, "s", predicates(_A)),
        request(client, 2, Operation.OPERATION_PUBLISH, "p", publication("[class,'A']")),
        request(client, 3, _DETACH),
    )
    for number in (1, 2, 3):
        await stream.rejected(number, "its client is not attached")


@ROWS.must("S-11")
async def rejects_a_client_that_another_session_has(bench: Bench) -> None:
    """A request of a client that is attached to another session is rejected."""
    client = bench.name("s11-")
    await Actor(await bench.stream(), client).attach()
    other = await bench.stream()
    await other.send(request(client, 1, _SUBSCRIBE, "s", predicates(_A)))
    await other.rejected(1, "its client is attached to another session")


@ROWS.must("S-11")
async def rejects_a_client_without_a_name(bench: Bench) -> None:
    """A client with an empty name, or one that begins with a zero character, is not attached."""
    stream = await bench.stream()
    await stream.send(request("", 1, _ATTACH), request("\0internal", 2, _ATTACH))
    await stream.rejected(1, "its client has no name")
    await stream.rejected(2, "its client's name begins with a zero character")


@ROWS.must("S-12")
async def begins_anew_where_a_client_attaches_again(bench: Bench) -> None:
    """A client that attaches again on its stream has no declarations any more."""
    actor = Actor(await bench.stream(), bench.name("s12-"))
    subject = bench.name("again")
    await actor.attach(advertised=f"[class,eq,'{subject}']", subscribed=f"[class,eq,'{subject}']")
    await actor.attach(subscribed="[class,eq,'marker']")
    await actor.stream.rejected(
        await actor.publish("p1", f"[class,'{subject}']"), "its client has attached anew and advertised nothing"
    )
    publisher = await _publisher(bench, subject)
    await publisher.publish("p2", f"[class,'{subject}']")
    await publisher.publish("last", "[class,'marker']")
    got = await actor.stream.notified_until("last")
    require([id for _, id in got] == ["last"], "a client that has attached anew is notified by its former subscription")


@ROWS.must("S-12")
async def moves_a_client_to_another_stream(bench: Bench) -> None:
    """A client that attaches on another stream starts there with nothing, and is notified there only."""
    subject, client = bench.name("moved"), bench.name("s12-")
    former = await bench.stream()
    watcher = Actor(former, bench.name("watcher-"))
    await watcher.attach(subscribed="[class,eq,'marker']")
    await Actor(former, client, watcher.numbers).attach(subscribed=f"[class,eq,'{subject}']")
    there = Actor(await bench.stream(), client)
    await there.attach()
    publisher = await _publisher(bench, subject)
    await publisher.publish("p1", f"[class,'{subject}']")
    await there.subscribe("s", f"[class,eq,'{subject}']")
    await publisher.publish("p2", f"[class,'{subject}']")
    await publisher.publish("last", "[class,'marker']")
    got = await there.stream.notified_until("p2")
    require(got == [(client, "p2")], f"a client that moved should be notified of p2 alone, and got {got}")
    stayed = await former.notified_until("last")
    require(client not in [name for name, _ in stayed], "a client that moved is notified at its former stream")


@ROWS.must("S-13")
async def withdraws_what_a_client_has_when_it_detaches(bench: Bench) -> None:
    """DETACH is confirmed; the client is notified no more, and its requests are rejected."""
    stream = await bench.stream()
    subject = bench.name("left")
    watcher = Actor(stream, bench.name("watcher-"))
    await watcher.attach(subscribed="[class,eq,'marker']")
    actor = Actor(stream, bench.name("s13-"), watcher.numbers)
    await actor.attach(subscribed=f"[class,eq,'{subject}']")
    await stream.confirmed(await actor.do(_DETACH))
    await stream.rejected(await actor.do(_SUBSCRIBE, "s", predicates(_A)), "its client has detached")
    publisher = await _publisher(bench, subject)
    await publisher.publish("p", f"[class,'{subject}']")
    await publisher.publish("last", "[class,'marker']")
    got = await stream.notified_until("last")
    require(got == [(watcher.name, "last")], "a client that has detached is notified")


@ROWS.must("S-14")
async def takes_the_same_declaration_again(bench: Bench) -> None:
    """An equal subscription and advertisement under their ids again are confirmed, and notify once."""
    actor = await _own_subscriber(bench, "again")
    await actor.subscribe("s", "[class,eq,'again']")
    await actor.advertise("a", "[class,eq,'again']")
    await actor.publish("p", "[class,'again']")
    await actor.publish("last", "[class,'again']")
    got = await actor.stream.notified_until("last")
    require(
        [id for _, id in got] == ["p", "last"], f"each of two publications should notify once, and notified of {got}"
    )


@ROWS.must("S-14")
async def replaces_a_subscription(bench: Bench) -> None:
    """Another subscription under the same id replaces the former one."""
    actor = await _own_subscriber(bench, "former", "later")
    await actor.subscribe("s", "[class,eq,'later']")
    await actor.publish("p", "[class,'former']")
    await actor.publish("last", "[class,'later']")
    got = await actor.stream.notified_until("last")
    require([id for _, id in got] == ["last"], "a subscription that was replaced still notifies")


@ROWS.must("S-14")
async def replaces_an_advertisement(bench: Bench) -> None:
    """Another advertisement under the same id replaces the former one."""
    actor = Actor(await bench.stream(), bench.name("s14-"))
    await actor.attach(advertised=_A)
    await actor.advertise("a", _B)
    await actor.stream.rejected(
        await actor.publish("p", "[class,'A']"), "its advertisement was replaced by another one"
    )


@ROWS.must("S-14")
async def keeps_names_of_advertisements_apart(bench: Bench) -> None:
    """An advertisement and a subscription may have one id; a withdrawal of one leaves the other."""
    actor = Actor(await bench.stream(), bench.name("s14-"))
    await actor.attach()
    await actor.advertise("same", _A)
    await actor.subscribe("same", _A)
    await actor.publish("p1", "[class,'A']")
    await actor.stream.notified_until("p1")
    await actor.stream.confirmed(await actor.do(_UNADVERTISE, "same"))
    await actor.advertise("other", _A)
    await actor.publish("p2", "[class,'A']")
    await actor.stream.notified_until("p2")


@ROWS.must("S-15")
async def rejects_the_withdrawal_of_what_there_is_not(bench: Bench) -> None:
    """UNSUBSCRIBE and UNADVERTISE of an unknown id are rejected, a second time as well."""
    actor = Actor(await bench.stream(), bench.name("s15-"))
    await actor.attach(advertised=_A, subscribed=_A)
    await actor.unsubscribe("s")
    await actor.stream.rejected(await actor.do(_UNSUBSCRIBE, "s"), "the subscription is withdrawn already")
    await actor.stream.rejected(await actor.do(_UNSUBSCRIBE, "a"), "the id is that of an advertisement")
    await actor.stream.rejected(await actor.do(_UNADVERTISE, "unknown"), "there is no such advertisement")


@ROWS.must("S-15")
async def notifies_no_more_of_a_withdrawn_subscription(bench: Bench) -> None:
    """Once UNSUBSCRIBE is confirmed, the client is not notified by that subscription any more."""
    actor = await _own_subscriber(bench, "gone", "marker")
    await actor.subscribe("m", "[class,eq,'marker']")
    await actor.unsubscribe("s")
    await actor.publish("p", "[class,'gone']")
    await actor.publish("last", "[class,'marker']")
    got = await actor.stream.notified_until("last")
    require([id for _, id in got] == ["last"], "a withdrawn subscription still notifies")


@ROWS.must("S-17")
async def answers_to_composite_subscriptions(bench: Bench) -> None:
    """COMPOSE is confirmed, or rejected with a reason."""
    actor = Actor(await bench.stream(), bench.name("s17-"))
    await actor.attach()
    part = content.Part(
        predicates=[content.OpenPredicate(attribute="class", operator="eq", value=content.Value(text="A"))]
    )
    composite = content.Composite(pattern=content.Pattern(part=part))
    answer = await actor.stream.answer(await actor.do(Operation.OPERATION_COMPOSE, "c", composite.SerializeToString()))
    require(answer.outcome == CONFIRMED or answer.reason, "a composite subscription is rejected without a reason")


def _predicate(attribute: str, operator: str, **value: object) -> bytes:
    held = content.Value(**value)  # type: ignore[arg-type]
    return content.Predicates(
        predicates=[content.Predicate(attribute=attribute, operator=operator, value=held)]
    ).SerializeToString()


def _content(*attributes: tuple[str, content.Value]) -> bytes:
    return content.Content(attributes=[content.Attribute(name=n, value=v) for n, v in attributes]).SerializeToString()


_CLASS = ("class", content.Value(text="A"))
_BAD_SUBSCRIPTIONS: tuple[tuple[str, str, bytes], ...] = (
    ("S-16", "cannot be decoded", b"\xff\xff\xff"),
    ("V-5", "has an unknown operator", _predicate("x", "like", text="y")),
    ("V-5", "compares a string by <", _predicate("x", "<", text="y")),
    ("V-5", "compares a number by str-prefix", _predicate("x", "str-prefix", integer=1)),
    ("S-16", "has a predicate without a value", _predicate("x", "=")),
    ("V-2", "has a decimal that is not finite", _predicate("x", "=", decimal=float("nan"))),
    ("V-2", "has a big integer that is none", _predicate("x", "=", big_integer="12x")),
    ("V-9", "names an attribute of 257 characters", _predicate("x" * 257, "=", integer=1)),
    ("V-9", "names an attribute without a name", _predicate("", "=", integer=1)),
    ("V-9", "has a string of 4,097 characters", _predicate("x", "eq", text="y" * 4097)),
    ("V-9", "has 257 predicates", predicates(",".join("[x,>,1]" for _ in range(257)))),
)  # fmt: skip
_BAD_ADVERTISEMENTS: tuple[tuple[str, str, bytes], ...] = (
    ("V-8", "does not name the attribute class", _predicate("x", ">", integer=1)),
    ("V-9", "has 1,025 predicates", predicates(_A + "".join(f",[x{n},>,1]" for n in range(1024)))),
    ("V-9", "has 257 predicates on one attribute", predicates(_A + ",[x,>,1]" * 257)),
)
_BAD_PUBLICATIONS: tuple[tuple[str, str, bytes], ...] = (
    ("S-16", "cannot be decoded", b"\xff\xff\xff"),
    ("V-8", "has no class", _content(("x", content.Value(integer=1)))),
    ("V-8", "has a class that is a number", _content(("class", content.Value(integer=1)))),
    (
        "V-1",
        "has an attribute twice",
        _content(_CLASS, ("x", content.Value(integer=1)), ("x", content.Value(integer=1))),
    ),
    ("S-16", "has an attribute without a value", _content(_CLASS, ("x", content.Value()))),
    ("V-2", "has a decimal that is not finite", _content(_CLASS, ("x", content.Value(decimal=float("inf"))))),
    ("V-2", "has a big integer of 1,001 digits", _content(_CLASS, ("x", content.Value(big_integer="1" * 1001)))),
    ("V-9", "has 257 attributes", _content(_CLASS, *((f"x{n}", content.Value(integer=n)) for n in range(256)))),
)


def _rejecting(statement: str, operation: int, noun: str, trouble: str, body: bytes) -> None:
    async def check(bench: Bench) -> None:
        actor = Actor(await bench.stream(), bench.name("bad-"))
        await actor.attach(advertised=f"{_A},[x,isPresent,0]")
        await actor.stream.rejected(await actor.do(operation, "bad", body), f"its body {trouble}")
        await actor.subscribe("good", _A)  # the stream goes on

    words = "".join(letter if letter.isalnum() else "_" for letter in trouble).replace("__", "_")
    check.__name__ = f"rejects_a_{noun}_that_{words}"
    check.__doc__ = (
        f"A{'n' if noun == 'advertisement' else ''} {noun} that {trouble} is rejected, and its stream goes on."
    )
    ROWS.must(statement)(check)


def _add_all() -> None:
    add: Callable[[str, int, str, str, bytes], None] = _rejecting
    for statement, trouble, body in _BAD_SUBSCRIPTIONS:
        add(statement, _SUBSCRIBE, "subscription", trouble, body)
    for statement, trouble, body in _BAD_ADVERTISEMENTS:
        add(statement, _ADVERTISE, "advertisement", trouble, body)
    for statement, trouble, body in _BAD_PUBLICATIONS:
        add(statement, Operation.OPERATION_PUBLISH, "publication", trouble, body)


_add_all()


async def _own_subscriber(bench: Bench, *classes: str) -> Actor:
    """A client that advertises classes and subscribes to the first of them under `s`."""
    actor = Actor(await bench.stream(), bench.name("client-"))
    await actor.attach(subscribed=f"[class,eq,'{classes[0]}']")
    for number, name in enumerate(classes):
        await actor.advertise("a" if not number else f"a{number}", f"[class,eq,'{name}']")
    return actor


async def _publisher(bench: Bench, *classes: str) -> Actor:
    """A client on a stream of its own that advertises classes, and that of the markers."""
    actor = Actor(await bench.stream(), bench.name("publisher-"))
    await actor.attach()
    for number, name in enumerate((*classes, "marker")):
        await actor.advertise(f"a{number}", f"[class,eq,'{name}']")
    return actor
