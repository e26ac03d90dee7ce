"""A client on a raw stream: it numbers its requests, and waits for the answers where that is wanted."""

from __future__ import annotations

from collections.abc import Mapping

from broker_service.generated import broker_pb2 as pb
from studies.broker_kit.content import predicates, publication
from studies.broker_kit.raw_stream import Operation, RawStream, request


class Numbers:
    """The numbers of one session's requests."""

    def __init__(self, first: int = 1) -> None:
        self.last = first - 1

    def next(self) -> int:
        """The next number."""
        self.last += 1
        return self.last


class Actor:
    """One logical client of a session."""

    def __init__(self, stream: RawStream, name: str, numbers: Numbers | None = None) -> None:
        """Clients of one session share their numbers."""
        self.stream = stream
        self.name = name
        self.numbers = numbers or Numbers()

    def request(self, operation: int, id: str = "", body: bytes = b"") -> pb.ClientRequest:
        """The next request of this client, which is not sent."""
        return request(self.name, self.numbers.next(), operation, id, body)

    async def do(self, operation: int, id: str = "", body: bytes = b"") -> int:
        """Sends a request, and returns its number."""
        made = self.request(operation, id, body)
        await self.stream.send(made)
        return made.number

    async def attach(self, *, advertised: str = "", subscribed: Mapping[str, str] | str = "") -> None:
        """Attaches; advertises under `a` and subscribes under `s`, or under several ids. All is confirmed."""
        await self.stream.confirmed(await self.do(Operation.OPERATION_ATTACH))
        if advertised:
            await self.advertise("a", advertised)
        subscriptions = {"s": subscribed} if isinstance(subscribed, str) and subscribed else subscribed
        for id, text in dict(subscriptions or {}).items():
            await self.subscribe(id, text)

    async def advertise(self, id: str, text: str) -> None:
        """Advertises, which is confirmed."""
        await self.stream.confirmed(await self.do(Operation.OPERATION_ADVERTISE, id, predicates(text)))

    async def subscribe(self, id: str, text: str) -> None:
        """Subscribes, which is confirmed."""
        await self.stream.confirmed(await self.do(Operation.OPERATION_SUBSCRIBE, id, predicates(text)))

    async def unsubscribe(self, id: str) -> None:
        """Withdraws a subscription, which is confirmed."""
        await self.stream.confirmed(await self.do(Operation.OPERATION_UNSUBSCRIBE, id))

    async def publish(self, id: str, text: str) -> int:
        """Publishes, and returns the number."""
        return await self.do(Operation.OPERATION_PUBLISH, id, publication(text))
