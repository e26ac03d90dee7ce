#!/usr/bin/env python3
"""A client program of brokerlab: subscribes to quotes of one symbol and publishes an alert for each that is high.

It is started with the address of its broker and its own name in its environment; docs/client-programs.md has the rules.
"""

from __future__ import annotations

import asyncio
import os
import signal

from broker_service.client_library.client import Client, Session
from broker_service.language import Advertisement, Operator, Predicate, Publication, Subscription


def of_class(name: str, *further: Predicate) -> tuple[Predicate, ...]:
    return (Predicate("class", Operator.STRING_EQUAL, name), *further)


async def watch(session: Session, client: Client, limit: float) -> None:
    number = 0
    async for notification in client:
        attributes = notification.publication.attributes
        if float(attributes["close"]) > limit:
            number += 1
            alert = {"class": "ALERT", "symbol": attributes["symbol"], "from": client.id}
            client.publish(f"{client.id}-{os.getpid()}-alert{number}", Publication(alert))  # new in each life
            print(f"{attributes['symbol']} is above {limit}", flush=True)
        session.acknowledge(notification)


async def main() -> None:
    name = os.environ["BROKERLAB_CLIENT"]
    leave = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, leave.set)
    async with Session(os.environ["BROKERLAB_ADDRESS"]) as session:  # waits until the run begins
        client = await session.client(name)
        texts = [Predicate(attribute, Operator.PRESENT, "") for attribute in ("symbol", "from")]
        await client.advertise("alerts", Advertisement(of_class("ALERT", *texts)))
        await client.subscribe("quotes", Subscription(of_class("STOCK")))
        watching = asyncio.create_task(watch(session, client, float(os.environ.get("LIMIT", "20"))))
        await leave.wait()
        watching.cancel()


asyncio.run(main())
