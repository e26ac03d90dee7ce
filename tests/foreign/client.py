"""A client program that stands for somebody else's. `FOREIGN_CLIENT` in its environment says what it does wrong.

`python client.py` subscribes to all quotes. What it prints is in `programs` of its variant's folder.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

from broker_service.client_library.client import Client, Session
from broker_service.language import Operator, Predicate, Subscription
from broker_service.language.composite_subscription import CompositeSubscription
from broker_service.messages import Operation

QUOTES = Subscription((Predicate("class", Operator.STRING_EQUAL, "STOCK"),))


async def crash(client: Client, _session: Session) -> None:
    """Ends at its second notification."""
    await anext(client)
    await anext(client)
    print("I have had enough", flush=True)
    os._exit(7)


async def crash_between_acknowledgements(client: Client, session: Session) -> None:
    """Acknowledges its first notification, and ends once two more have come."""
    session.acknowledge(await anext(client))
    await client.subscribe("more", QUOTES)  # answered once the acknowledgement has come
    await anext(client)
    await anext(client)
    os._exit(7)


async def acknowledge_what_has_not_come(_client: Client, session: Session) -> None:
    session.transport.acknowledge(1_000_000)


async def compose(client: Client, _session: Session) -> None:
    """Asks for pairs of a high quote and a low one besides."""
    from broker_service.language.notation import parse_composite  # images of the tests lack what it needs

    pattern = parse_composite("{[class,eq,'STOCK'],[close,>,20]}&{[class,eq,'STOCK'],[close,<,20]}")
    await client.subscribe("pairs", CompositeSubscription(pattern, within=500_000_000))


async def speak_for_another(client: Client, session: Session) -> None:
    session.transport.submit("S1", Operation.ATTACH)


async def stay(_client: Client, _session: Session) -> None:
    """Does not end when it is asked to, nor do its children."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    await asyncio.create_subprocess_exec("sleep", "3600")


async def escape(_client: Client, _session: Session) -> None:
    """Tries whatever leads to a broker past the relay."""
    await asyncio.to_thread(try_all, os.environ["OTHER_ADDRESSES"].split(","))


def try_all(addresses: list[str]) -> None:
    for address in addresses:
        try:
            reach(address)
        except OSError as error:
            print(f"{address}: {error.strerror}", flush=True)
        else:
            print(f"reached {address}", flush=True)


def reach(address: str) -> None:
    """Connects to `host:port`, or to the socket of a broker below a folder with those of all runs. Raises `OSError`."""
    if address.startswith("/"):
        path = Path(address) / os.environ["BROKERLAB_RUN"] / "B2" / "broker.sock"
        socket.socket(socket.AF_UNIX).connect(str(path))
    else:
        host, _, port = address.partition(":")
        socket.create_connection((host, int(port)), timeout=1).close()


async def write_to_root(_client: Client, _session: Session) -> None:
    await asyncio.to_thread(Path("/kept").write_text, "this")


async def take_memory(_client: Client, _session: Session) -> None:
    bytearray(1 << 30).count(b"x")


async def fork_without_end(_client: Client, _session: Session) -> None:
    """Starts processes as long as it may, and goes on."""
    fill()


def fill() -> None:
    with contextlib.suppress(OSError):
        while True:
            subprocess.Popen(["sleep", "3600"])


_MADE = (
    crash,
    crash_between_acknowledgements,
    acknowledge_what_has_not_come,
    compose,
    speak_for_another,
    stay,
    escape,
    write_to_root,
    take_memory,
    fork_without_end,
)
DEFECTS = {made.__name__: made for made in _MADE}


async def main() -> None:
    async with Session(os.environ["BROKERLAB_ADDRESS"]) as session:
        client = await session.client(os.environ["BROKERLAB_CLIENT"])
        await client.subscribe("quotes", QUOTES)
        if defect := os.environ.get("FOREIGN_CLIENT"):
            await DEFECTS[defect](client, session)
        await asyncio.Event().wait()


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
