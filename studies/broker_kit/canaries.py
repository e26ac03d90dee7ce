"""Rest, found without counters: publications that reach every broker behind everything before them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from itertools import count

from studies.broker_kit.content import predicates, publication
from studies.broker_kit.failures import RowFailure
from studies.broker_kit.raw_stream import Operation, RawStream, request

COME_WITHIN = 20.0
_AGAIN = 0.1
_ROUNDS = count(1)
_PREFIX = "canary of "
"""Beginning of the ids of canaries' publications; the name of the canary's broker and a number follow."""


def is_canary(publication: str) -> bool:
    """True for a canary's publication, which comes to clients, too, that ask for whatever is not of a given class."""
    return publication.startswith(_PREFIX)


class Canaries:
    """One look: each broker's canary subscribes to a new class and publishes until every one of its part has all."""

    def __init__(self, addresses: Mapping[str, str], parts: Sequence[frozenset[str]]) -> None:
        """`addresses` has those of the brokers for clients; `parts` are the brokers that can reach one another."""
        self._addresses = addresses
        self._parts = parts

    async def all_come(self) -> None:
        """Raises `RowFailure` when some canary does not come in time."""
        await asyncio.gather(*(self._within(sorted(part)) for part in self._parts))

    async def _within(self, part: Sequence[str]) -> None:
        subject = f"canary-{next(_ROUNDS)}"
        streams = {name: RawStream.open(self._addresses[name]) for name in part}
        try:
            for name, stream in streams.items():
                client = f"brokerlab canary {name} {subject}"
                await stream.welcome()
                await stream.send(session=client)
                await stream.send(
                    request(client, 1, Operation.OPERATION_ATTACH),
                    request(client, 2, Operation.OPERATION_ADVERTISE, "a", predicates(f"[class,eq,'{subject}']")),
                    request(client, 3, Operation.OPERATION_SUBSCRIBE, "s", predicates(f"[class,eq,'{subject}']")),
                )
                await stream.confirmed(1, 2, 3)
            publishing = [asyncio.create_task(self._publish(name, streams[name], subject)) for name in part]
            try:
                await asyncio.gather(*(self._collect(name, streams) for name in part))
            finally:
                for task in publishing:
                    task.cancel()
        finally:
            await asyncio.gather(*(stream.close() for stream in streams.values()))

    async def _collect(self, name: str, streams: Mapping[str, RawStream]) -> None:
        """Returns when publications of all brokers have come to one, its own among them."""
        stream, missing = streams[name], set(streams)
        try:
            async with asyncio.timeout(COME_WITHIN):
                while missing:
                    event = await stream.notification()
                    missing.discard(event.id.removeprefix(_PREFIX).partition("#")[0])
        except TimeoutError:
            raise RowFailure(f"canaries of {', '.join(sorted(missing))} have not come to {name}") from None

    async def _publish(self, name: str, stream: RawStream, subject: str) -> None:
        """Publishes again and again, because the subscription of another broker may come later than a publication."""
        client = f"brokerlab canary {name} {subject}"
        body = publication(f"[class,'{subject}']")
        for number in count(4):
            await stream.send(request(client, number, Operation.OPERATION_PUBLISH, f"{_PREFIX}{name}#{number}", body))
            await asyncio.sleep(_AGAIN)
