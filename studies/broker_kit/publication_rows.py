"""Rows of publications and notifications: what is accepted, acknowledged, and told to whom; and of repeats."""

from __future__ import annotations

import asyncio
import secrets

from studies.broker_kit.actor import Actor, Numbers
from studies.broker_kit.bench import Bench
from studies.broker_kit.content import predicates, publication
from studies.broker_kit.failures import require
from studies.broker_kit.raw_stream import REJECTED, Operation, RawStream, request
from studies.broker_kit.rows import Rows, Suite

ROWS = Rows(Suite.SESSION)

_PUBLISH = Operation.OPERATION_PUBLISH
_BREAKS = 12
_BETWEEN = 25
"""Publications between two breaks."""
_BURST = 300
_MANY = 5_000


@ROWS.must("S-18")
async def rejects_a_publication_that_conforms_to_no_advertisement(bench: Bench) -> None:
    """A publication of another class, with another attribute, or of a client that advertised nothing is rejected."""
    actor = Actor(await bench.stream(), bench.name("s18-"))
    await actor.attach()
    await actor.stream.rejected(await actor.publish("p1", "[class,'A']"), "its client has advertised nothing")
    await actor.advertise("a", "[class,eq,'A'],[price,>,10]")
    for id, text, why in (
        ("p2", "[class,'B']", "its class is not advertised"),
        ("p3", "[class,'A'],[price,5]", "its price is not advertised"),
        ("p4", "[class,'A'],[volume,5]", "it has an attribute that is not advertised"),
    ):
        await actor.stream.rejected(await actor.publish(id, text), why)
    await actor.stream.confirmed(await actor.do(Operation.OPERATION_UNADVERTISE, "a"))
    await actor.stream.rejected(await actor.publish("p5", "[class,'A']"), "its advertisement is withdrawn")


@ROWS.must("S-19")
async def acknowledges_behind_rejections(bench: Bench) -> None:
    """An acknowledgement comes behind the rejections of all publications up to its number."""
    actor = Actor(await bench.stream(), bench.name("s19-"))
    await actor.attach(advertised="[class,eq,'A']")
    first = actor.numbers.last + 1
    requests = [
        actor.request(_PUBLISH, f"p{n}", publication("[class,'A']" if n % 3 else "[class,'B']")) for n in range(_BURST)
    ]
    await actor.stream.send(*requests)
    wanted = {made.number for n, made in enumerate(requests) if n % 3 == 0}
    rejected: set[int] = set()
    acknowledged = 0
    while acknowledged < requests[-1].number:
        frame = await actor.stream.frame()
        for event in frame.events:
            require(event.outcome == REJECTED, "publications are answered by rejections alone")
            require(
                event.number > acknowledged, f"publication {event.number} was acknowledged and is rejected afterwards"
            )
            rejected.add(event.number)
        if frame.acknowledged:
            acknowledged = frame.acknowledged
            late = sorted(number for number in wanted - rejected if number <= acknowledged)
            require(not late, f"publication {late and late[0]} is acknowledged before it is rejected")
    require(rejected == wanted, f"{len(wanted)} of {_BURST} publications should be rejected, and {len(rejected)} are")
    require(
        acknowledged == first + _BURST - 1,
        f"{first + _BURST - 1} publications were made, and {acknowledged} are acknowledged",
    )


@ROWS.must("S-20")
async def acknowledges_without_further_ado(bench: Bench) -> None:
    """A single publication is acknowledged, though nothing comes behind it."""
    actor = Actor(await bench.stream(), bench.name("s20-"))
    await actor.attach(advertised="[class,eq,'A']")
    await actor.stream.acknowledgement(await actor.publish("p", "[class,'A']"))


@ROWS.must("S-22")
async def bears_gaps_between_numbers(bench: Bench) -> None:
    """Numbers of publications may grow by more than one."""
    stream = await bench.stream()
    client = bench.name("s22-")
    actor = Actor(stream, client)
    await actor.attach(advertised="[class,eq,'A']", subscribed="[class,eq,'A']")
    for number in (10, 11, 500, 1 << 40):
        await stream.send(request(client, number, _PUBLISH, f"p{number}", publication("[class,'A']")))
    await stream.notified_until(f"p{1 << 40}")
    await stream.acknowledgement(1 << 40)


@ROWS.must("S-24")
async def notifies_once_of_each_publication(bench: Bench) -> None:
    """A client is notified once, however many of its subscriptions match, and of no other publication."""
    actor = Actor(await bench.stream(), bench.name("s24-"))
    subject = bench.name("once")
    await actor.attach(
        advertised="[class,isPresent,''],[x,isPresent,0]",
        subscribed={"s1": f"[class,eq,'{subject}']", "s2": f"[class,eq,'{subject}'],[x,>,1]", "s3": "[x,=,5]"},
    )
    for id, text in (
        ("p1", f"[class,'{subject}'],[x,5]"),
        ("p2", "[class,'other'],[x,4]"),
        ("p3", f"[class,'{subject}'],[x,0]"),
    ):
        await actor.publish(id, text)
    got = [id for _, id in await actor.stream.notified_until("p3")]
    require(got == ["p1", "p3"], f"the client should be notified of p1 and p3, once each, and got {got}")


@ROWS.must("S-24", within=120.0)
async def loses_none_of_many_publications(bench: Bench) -> None:
    """Each subscriber gets, of thousands of publications over two links, all that match, once each."""
    overlay = await bench.line("B1", "B2", "B3")
    publisher = Actor(await bench.stream(overlay.running["B1"]), "publisher")
    await publisher.attach(advertised="[class,eq,'many'],[x,isPresent,0]")
    subscribers = {
        rest: Actor(await bench.stream(overlay.running[broker]), f"subscriber{rest}")
        for rest, broker in enumerate(("B1", "B2", "B3"))
    }
    for rest, subscriber in subscribers.items():
        await subscriber.attach(
            subscribed={f"s{value}": f"[class,eq,'many'],[x,=,{value}]" for value in range(rest, 9, 3)}
            | {"end": "[x,=,99]"}
        )
    await overlay.settle()
    for begin in range(0, _MANY, _BETWEEN):
        numbers = range(begin, begin + _BETWEEN)
        await publisher.stream.send(
            *(publisher.request(_PUBLISH, f"p{n}", publication(f"[class,'many'],[x,{n % 9}]")) for n in numbers)
        )
    await publisher.publish("end", "[class,'many'],[x,99]")
    await overlay.settle()
    for rest, subscriber in subscribers.items():
        got = sorted(id for _, id in await subscriber.stream.notified_until("end") if id != "end")
        wanted = sorted(f"p{n}" for n in range(_MANY) if n % 3 == rest)
        lost, surplus = sorted(set(wanted) - set(got)), len(got) - len(set(got) & set(wanted))
        require(
            not lost, f"{len(lost)} of {len(wanted)} publications have not come to {subscriber.name}, {lost[:1]} first"
        )
        require(not surplus, f"{subscriber.name} got {surplus} publications twice or without reason")


@ROWS.must("S-25")
async def hands_over_the_body_as_it_was_published(bench: Bench) -> None:
    """A notification has the publication's id, and its body byte for byte; hops is 0 at the publisher's broker."""
    actor = Actor(await bench.stream(), bench.name("s25-"))
    await actor.attach(advertised="[class,eq,'A'],[z,isPresent,0],[b,isPresent,'']", subscribed="[class,eq,'A']")
    body = publication("[z,1],[class,'A'],[b,'é']") + b"\x9a\x06\x03xyz"  # a field that nobody knows
    await actor.do(_PUBLISH, "the id", body)
    event = await actor.stream.notification()
    require(event.id == "the id", f"the notification of 'the id' has the id {event.id!r}")
    require(event.body == body, "the body of a notification is not byte for byte what was published")
    require(event.hops == 0, f"a notification at the publisher's own broker has travelled {event.hops} links")


@ROWS.must("S-25")
async def counts_the_links_that_a_publication_travelled(bench: Bench) -> None:
    """hops of a notification two links away is 2."""
    overlay = await bench.line("B1", "B2", "B3")
    publisher = Actor(await bench.stream(overlay.running["B1"]), "publisher")
    subscriber = Actor(await bench.stream(overlay.running["B3"]), "subscriber")
    await publisher.attach(advertised="[class,eq,'hops']")
    await subscriber.attach(subscribed="[class,eq,'hops']")
    await overlay.settle()
    await publisher.publish("p", "[class,'hops']")
    event = await subscriber.stream.notification()
    require(event.hops == 2, f"a notification two links away has hops {event.hops}")


@ROWS.should("S-26")
async def names_all_clients_in_one_event(bench: Bench) -> None:
    """One event names all clients of a session that a publication notifies."""
    stream = await bench.stream()
    numbers, subject = Numbers(), bench.name("shared")
    actors = [Actor(stream, bench.name("s26-"), numbers) for _ in range(3)]
    for actor in actors:
        await actor.attach(advertised=f"[class,eq,'{subject}']", subscribed=f"[class,eq,'{subject}']")
    await actors[0].publish("p", f"[class,'{subject}']")
    event = await stream.notification()
    require(
        len(event.clients) == len(actors),
        f"the event names {len(event.clients)} of {len(actors)} clients of the session",
    )


@ROWS.must("S-27")
async def tells_publications_of_one_id_apart(bench: Bench) -> None:
    """Publications of two clients with the same id are two publications."""
    subject = bench.name("same")
    watcher = Actor(await bench.stream(), bench.name("s27-"))
    await watcher.attach(subscribed={"s": f"[class,eq,'{subject}']", "m": "[class,eq,'marker']"})
    for x in (1, 2):
        actor = Actor(await bench.stream(), bench.name("s27-"))
        await actor.attach(advertised="[class,isPresent,''],[x,isPresent,0]")
        await actor.publish("same id", f"[class,'{subject}'],[x,{x}]")
        await actor.publish(f"marker{x}", "[class,'marker']")
    got = [id for _, id in await watcher.stream.notified_until("marker2")]
    require(
        got.count("same id") == 2,
        f"two clients have published under one id, and {got.count('same id')} publications came",
    )


@ROWS.must("S-28")
async def sees_publications_behind_the_subscription(bench: Bench) -> None:
    """A publication right behind a subscription in one frame is seen by it."""
    stream = await bench.stream()
    actor = Actor(stream, bench.name("s28-"))
    await actor.attach(advertised="[class,eq,'A']")
    subscribe = actor.request(Operation.OPERATION_SUBSCRIBE, "s", predicates("[class,eq,'A']"))
    await stream.send(subscribe, actor.request(_PUBLISH, "p", publication("[class,'A']")))
    await stream.notified_until("p")


@ROWS.must("A-1")
async def routes_no_repeat_of_a_stream_that_broke(bench: Bench) -> None:
    """Publications that a session repeats on its next stream are routed once, whenever the former one broke."""
    subject = bench.name("repeated")
    watcher = Actor(await bench.stream(), bench.name("a1-"))
    await watcher.attach(subscribed=f"[class,eq,'{subject}']")
    session, client = secrets.token_hex(8), bench.name("a1-")
    text = f"[class,eq,'{subject}']"
    body = publication(f"[class,'{subject}']")
    made, acknowledged = 0, 0
    for attempt in range(_BREAKS):
        stream = await bench.stream(session=session)
        await stream.send(
            request(client, 0, Operation.OPERATION_ATTACH),
            request(client, 0, Operation.OPERATION_ADVERTISE, "a", predicates(text)),
        )
        await stream.confirmed(0, 0)
        repeats = range(acknowledged + 1, made + 1)
        news = range(made + 1, made + 1 + _BETWEEN)
        await stream.send(*(request(client, n, _PUBLISH, f"p{n}", body) for n in (*repeats, *news)))
        made += _BETWEEN
        last = attempt == _BREAKS - 1
        if last or attempt % 3 == 0:
            await stream.acknowledgement(made)
            acknowledged = stream.acknowledged
        elif attempt % 3 == 1:
            await asyncio.sleep(0)
        if not last:
            stream.break_off()
    got = [id for _, id in await watcher.stream.notified_until(f"p{made}")]
    wanted = [f"p{n}" for n in range(1, made + 1)]
    twice = sorted({id for id in got if got.count(id) > 1})
    lost = sorted(set(wanted) - set(got))
    require(not twice, f"{len(twice)} publications that were repeated after breaks came twice, {twice[:1]} first")
    require(not lost, f"{len(lost)} publications that were repeated after breaks have not come, {lost[:1]} first")


@ROWS.should("A-9")
async def loses_nothing_when_a_link_breaks(bench: Bench) -> None:
    """Publications that cross a link while its streams break again and again come once each."""
    overlay = await bench.line("B1", "B2")
    publisher = Actor(await bench.stream(overlay.running["B1"]), "publisher")
    subscriber = Actor(await bench.stream(overlay.running["B2"]), "subscriber")
    await publisher.attach(advertised="[class,eq,'broken']")
    await subscriber.attach(subscribed="[class,eq,'broken']")
    await overlay.settle()
    for attempt in range(_BREAKS):
        numbers = range(attempt * _BETWEEN, (attempt + 1) * _BETWEEN)
        body = publication("[class,'broken']")
        await publisher.stream.send(*(publisher.request(_PUBLISH, f"p{n}", body) for n in numbers))
        await publisher.stream.acknowledgement(publisher.numbers.last)
        overlay.break_streams("B1", "B2")
    await overlay.settle()
    await publisher.publish("end", "[class,'broken']")
    got = [id for _, id in await subscriber.stream.notified_until("end")][:-1]
    lost = sorted({f"p{n}" for n in range(_BREAKS * _BETWEEN)} - set(got))
    require(not lost, f"{len(lost)} of {_BREAKS * _BETWEEN} publications were lost when a link broke, {lost[:1]} first")
    require(len(got) == len(set(got)), f"{len(got) - len(set(got))} publications came twice when a link broke")


@ROWS.must("A-1")
async def rejects_a_repeat_again(bench: Bench) -> None:
    """A publication that was rejected is rejected again when it is repeated, and those around it are acknowledged."""
    session, client = secrets.token_hex(8), bench.name("a1-")
    for _ in range(2):
        stream = await bench.stream(session=session)
        await stream.send(
            request(client, 0, Operation.OPERATION_ATTACH),
            request(client, 0, Operation.OPERATION_ADVERTISE, "a", predicates("[class,eq,'A']")),
            request(client, 1, _PUBLISH, "p1", publication("[class,'A']")),
            request(client, 2, _PUBLISH, "p2", publication("[class,'B']")),
            request(client, 3, _PUBLISH, "p3", publication("[class,'A']")),
        )
        await stream.confirmed(0, 0)
        await stream.rejected(2, "it conforms to no advertisement, and was rejected before")
        await stream.acknowledgement(3)
        stream.break_off()
        await stream.status()


@ROWS.must("A-2")
async def keeps_the_numbers_of_sessions_apart(bench: Bench) -> None:
    """Publications of two named sessions are both routed, though their numbers are equal."""
    subject = bench.name("apart")
    watcher = Actor(await bench.stream(), bench.name("a2-"))
    await watcher.attach(subscribed=f"[class,eq,'{subject}']")
    for id in ("p1", "p2"):
        actor = Actor(await bench.stream(), bench.name("a2-"))
        await actor.attach(advertised=f"[class,eq,'{subject}']")
        await actor.publish(id, f"[class,'{subject}']")
        await watcher.stream.notified_until(id)


@ROWS.must("A-3")
async def continues_a_session_that_is_still_open(bench: Bench) -> None:
    """A stream that names a session which another open stream has continues it: the former clients are withdrawn."""
    session, subject, client = secrets.token_hex(8), bench.name("open"), bench.name("a3-")
    former = Actor(await bench.stream(session=session), client)
    await former.attach(advertised=f"[class,eq,'{subject}']", subscribed=f"[class,eq,'{subject}']")
    await former.publish("p1", f"[class,'{subject}']")
    await former.stream.notified_until("p1")
    later = await bench.stream(session=session)
    await later.send(request(client, 50, Operation.OPERATION_SUBSCRIBE, "s", predicates(f"[class,eq,'{subject}']")))
    await later.rejected(50, "its client was withdrawn with the former stream of the session")
    again = Actor(later, client, Numbers(60))
    await again.attach(advertised=f"[class,eq,'{subject}']", subscribed=f"[class,eq,'{subject}']")
    await later.send(request(client, former.numbers.last, _PUBLISH, "p1", publication(f"[class,'{subject}']")))
    await again.publish("p2", f"[class,'{subject}']")
    got = [id for _, id in await later.notified_until("p2")]
    require(got == ["p2"], f"the stream that continues a session repeats p1 and publishes p2, and is notified of {got}")


@ROWS.must("A-4")
async def notifies_once_of_what_is_declared_again(bench: Bench) -> None:
    """A subscription that is declared again on the next stream notifies once."""
    session, subject, client = secrets.token_hex(8), bench.name("anew"), bench.name("a4-")
    stream = await bench.stream(session=session)
    for _ in range(3):
        stream.break_off()
        stream = await bench.stream(session=session)
        await stream.send(
            request(client, 0, Operation.OPERATION_ATTACH),
            request(client, 0, Operation.OPERATION_SUBSCRIBE, "s", predicates(f"[class,eq,'{subject}']")),
        )
        await stream.confirmed(0, 0)
    publisher = Actor(await bench.stream(), bench.name("a4-"))
    await publisher.attach(advertised=f"[class,eq,'{subject}']")
    await publisher.publish("p1", f"[class,'{subject}']")
    await publisher.publish("p2", f"[class,'{subject}']")
    got = [id for _, id in await stream.notified_until("p2")]
    require(
        got == ["p1", "p2"], f"a subscription that was declared three times should notify once, and notified of {got}"
    )


@ROWS.must("A-5")
async def knows_nothing_of_a_former_incarnation(bench: Bench) -> None:
    """A broker that is started again takes numbers that its former incarnation has handled for new ones."""
    broker = await bench.start(bench.configuration())
    session = "restarted"
    for number in (1, 2):
        stream = await bench.stream(broker, session=session)
        actor = Actor(stream, "client")
        await actor.attach(advertised="[class,eq,'A']", subscribed="[class,eq,'A']")
        await actor.publish(f"p{number}", "[class,'A']")
        await stream.notified_until(f"p{number}")
        await broker.kill()
        if number == 1:
            broker = await bench.start(broker.configuration.restarted())


@ROWS.must("A-6")
async def promises_no_more_than_it_keeps(bench: Bench) -> None:
    """A broker that says that it recognises repeats routes none that a former incarnation has accepted."""
    broker = await bench.start(bench.configuration())
    raw = RawStream.open(broker.address)
    recognises = (await raw.welcome()).recognises_repeats
    await raw.close()
    for expected in (["p1"], ["end"] if recognises else ["p1", "end"]):
        stream = await bench.stream(broker, session="again")
        await stream.send(
            request("client", 1, Operation.OPERATION_ATTACH),
            request("client", 2, Operation.OPERATION_ADVERTISE, "a", predicates("[class,eq,'A']")),
            request("client", 3, Operation.OPERATION_SUBSCRIBE, "s", predicates("[class,eq,'A']")),
            request("client", 4, _PUBLISH, "p1", publication("[class,'A']")),
        )
        await stream.confirmed(1, 2, 3)
        if expected[-1] == "end":
            await stream.send(request("client", 5, _PUBLISH, "end", publication("[class,'A']")))
        got = [id for _, id in await stream.notified_until(expected[-1])]
        require(got == expected, f"the client should be notified of {expected}, and got {got}")
        await stream.acknowledgement(4)
        await broker.kill()
        if expected == ["p1"]:
            broker = await bench.start(broker.configuration.restarted())
    await broker.kill()
