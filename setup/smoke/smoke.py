"""The client of docker-compose.yml: checks that three brokers deliver what they should, and nothing else.

    python smoke.py B1=host:port B2=host:port B3=host:port

Prints a line for each check. Exits with 0 when all hold, 1 when one does not, 4 when a broker cannot be reached.
"""

from __future__ import annotations

import asyncio
import itertools
import sys
from collections import Counter
from contextlib import AsyncExitStack
from dataclasses import dataclass, field

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from broker_service.client_library.client import Client, Session
from broker_service.client_library.client_session import ConnectError
from broker_service.generated import broker_pb2, broker_pb2_grpc
from broker_service.language import Advertisement, Predicate, Publication, Subscription, Value, operator_named
from record.exit_codes import ExitCode

PATIENCE = 30.0
"""Seconds for anything that is awaited."""
POLL = 0.05
"""Seconds between two looks at what can only be asked for."""

STOCK: tuple[str, str, Value] = ("class", "eq", "STOCK")


class CheckFailedError(Exception):
    """The brokers did not do what they should."""


@dataclass
class Subscriber:
    """A client, and how often it got each publication."""

    client: Client
    got: Counter[str] = field(default_factory=Counter)
    arrived: asyncio.Event = field(default_factory=asyncio.Event)

    async def listen(self) -> None:
        async for notification in self.client:
            self.got[notification.id] += 1
            self.arrived.set()

    async def gets(self, publication: str) -> None:
        while publication not in self.got:
            self.arrived.clear()
            await self.arrived.wait()


def predicates(*triples: tuple[str, str, Value]) -> tuple[Predicate, ...]:
    return tuple(Predicate(name, operator_named(word, value), value) for name, word, value in triples)


def quote(price: float) -> Publication:
    return Publication({"class": "STOCK", "price": price})


def passed(what: str) -> None:
    print(f"PASS  {what}", flush=True)


async def check_health(brokers: dict[str, str]) -> None:
    for address in brokers.values():
        async with grpc.aio.insecure_channel(address) as channel:
            await channel.channel_ready()
            reply = await health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest())
            if reply.status != health_pb2.HealthCheckResponse.SERVING:
                raise CheckFailedError(f"{address} says of its health: {reply.status}")
    passed(f"{len(brokers)} brokers serve")


async def check_links(brokers: dict[str, str]) -> None:
    for broker, address in brokers.items():
        async with grpc.aio.insecure_channel(address) as channel:
            control = broker_pb2_grpc.BrokerControlStub(channel)  # type: ignore[no-untyped-call]
            while True:
                links = (await control.Status(broker_pb2.StatusRequest())).links
                if {link.neighbour for link in links} != brokers.keys() - {broker}:
                    raise CheckFailedError(f"{broker} has links to {[link.neighbour for link in links]}")
                if all(link.up for link in links):
                    break
                await asyncio.sleep(POLL)
    passed("every link is up")


async def settle(publisher: Client, subscribers: list[Subscriber], prefix: str) -> None:
    """Publishes what all subscribe to until all got some of it: the overlay then knows them all."""
    for number in itertools.count():
        probe = f"{prefix}{number}"
        publisher.publish(probe, Publication({"class": "STOCK", "price": 1, "probe": 1}))
        try:
            async with asyncio.timeout(5 * POLL):
                await asyncio.gather(*(subscriber.gets(probe) for subscriber in subscribers))
        except TimeoutError:
            continue
        return


async def check_delivery(publisher: Client, high: Subscriber, low: Subscriber) -> None:
    await publisher.advertise("a1", Advertisement(predicates(STOCK, ("price", ">", 0), ("probe", "isPresent", 0))))
    for subscriber, range_ in ((high, ("price", ">", 80)), (low, ("price", "<=", 20.5))):
        await subscriber.client.subscribe("s1", Subscription(predicates(STOCK, range_)))
        await subscriber.client.subscribe("s2", Subscription(predicates(STOCK, ("probe", "=", 1))))
    await settle(publisher, [high, low], "before")
    passed("advertisements and subscriptions reach every broker")

    for id_, price in (("p1", 100.5), ("p2", 20.5), ("p3", 50)):
        publisher.publish(id_, quote(price))
    await high.gets("p1")
    await low.gets("p2")
    await settle(publisher, [high, low], "after")
    expect(high, {"p1"})
    expect(low, {"p2"})
    passed("each subscriber got exactly what matches, once, over the overlay")


async def check_rejection(publisher: Client, high: Subscriber) -> None:
    publisher.publish("p4", quote(-1))
    while "p4" not in publisher.rejected:  # noqa: ASYNC110 - the client library tells this only when asked
        await asyncio.sleep(POLL)
    await settle(publisher, [high], "rejected")
    expect(high, {"p1"})
    passed(f"a publication outside its advertisement is refused: {publisher.rejected['p4']}")


async def check_unsubscribing(publisher: Client, high: Subscriber) -> None:
    await high.client.unsubscribe("s1")
    publisher.publish("p5", quote(101))
    await settle(publisher, [high], "unsubscribed")
    expect(high, {"p1"})
    passed("who unsubscribed gets nothing more")


def expect(subscriber: Subscriber, publications: set[str]) -> None:
    got = {id_: times for id_, times in subscriber.got.items() if id_.startswith("p")}
    if got != dict.fromkeys(publications, 1):
        raise CheckFailedError(f"{subscriber.client.id} got {got}, and not {sorted(publications)} once each")


async def check(brokers: dict[str, str]) -> None:
    """All checks: a publisher at the first broker, a subscriber at each of the others."""
    await check_health(brokers)
    await check_links(brokers)
    async with AsyncExitStack() as stack:
        first, second, third = [await stack.enter_async_context(Session(address)) for address in brokers.values()]
        publisher = await first.client("P")
        high, low = Subscriber(await second.client("HIGH")), Subscriber(await third.client("LOW"))
        for subscriber in (high, low):
            stack.callback(asyncio.create_task(subscriber.listen()).cancel)
        await check_delivery(publisher, high, low)
        await check_rejection(publisher, high)
        await check_unsubscribing(publisher, high)


async def main(brokers: dict[str, str]) -> int:
    try:
        async with asyncio.timeout(PATIENCE):
            await check(brokers)
    except ConnectError as error:
        print(f"smoke: {error}", flush=True)
        return ExitCode.HOST
    except TimeoutError:
        print(f"FAIL  the next check was not done after {PATIENCE:.0f} s", flush=True)
        return ExitCode.VIOLATED
    except CheckFailedError as failure:
        print(f"FAIL  {failure}", flush=True)
        return ExitCode.VIOLATED
    print("smoke: passed", flush=True)
    return ExitCode.CORRECT


if __name__ == "__main__":
    sys.exit(asyncio.run(main(dict(argument.split("=", 1) for argument in sys.argv[1:]))))
