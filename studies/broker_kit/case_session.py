"""A session of well-behaved clients, which outlives its streams and its broker.

It opens another stream when one breaks, declares everything again with the number 0, and repeats the publications that
were not acknowledged, unless the broker was restarted in between.
"""

from __future__ import annotations

import asyncio
import secrets
from collections import deque
from collections.abc import Callable

from broker_service.generated import broker_pb2 as pb
from studies.broker_kit.failures import RowFailure
from studies.broker_kit.raw_stream import CONFIRMED, NOTIFIED, REJECTED, Operation, RawStream, request

_PUBLISH, _ATTACH, _DETACH = Operation.OPERATION_PUBLISH, Operation.OPERATION_ATTACH, Operation.OPERATION_DETACH
_SUBSCRIBING: tuple[int, ...] = (Operation.OPERATION_SUBSCRIBE, Operation.OPERATION_COMPOSE)
_AGAIN = 0.05
_REQUESTS_IN_FRAME = 128
_BARRIER = "conformance barrier"
_HANDED_OVER_WITHIN = 20.0

_Key = tuple[str, int, str]


class CaseSession:
    """One session with one broker. `on_event` is called with each notification and rejection."""

    def __init__(self, address: str, on_event: Callable[[pb.ClientEvent], None]) -> None:
        self._address = address
        self._on_event = on_event
        self._name = secrets.token_hex(8)
        self._number = 0
        self._declared: dict[_Key, pb.ClientRequest] = {}
        """Requests in force: attachments, advertisements and subscriptions, oldest first."""
        self._unacknowledged: deque[pb.ClientRequest] = deque()
        self._unanswered: dict[int, pb.ClientRequest] = {}
        self._waiting: deque[pb.ClientRequest] = deque()
        self._incarnation = 0
        self._stream: RawStream | None = None
        self._changed = asyncio.Event()
        self._task = asyncio.create_task(self._serve())

    def submit(self, client: str, operation: int, id: str = "", body: bytes = b"") -> int:
        """Hands a request over, and returns its number."""
        self._number += 1
        made = request(client, self._number, operation, id, body)
        if operation != _PUBLISH:
            self._unanswered[made.number] = made
            self._remember(made)
        self._waiting.append(made)
        self._changed.set()
        return made.number

    def break_stream(self) -> None:
        """Breaks the stream; another one is opened soon."""
        if self._stream is not None:
            self._stream.break_off()

    async def hand_over(self) -> None:
        """Returns once the broker has taken all requests. Raises `RowFailure`."""
        try:
            async with asyncio.timeout(_HANDED_OVER_WITHIN):
                while True:
                    stream, number = self._stream, self.submit(_BARRIER, _ATTACH)
                    while number in self._unanswered:
                        if self._task.done():
                            self._task.result()
                        await asyncio.sleep(_AGAIN / 10)
                    if stream is not None and stream is self._stream:
                        return
        except TimeoutError:
            raise RowFailure(f"the broker has not answered its clients for {_HANDED_OVER_WITHIN:g} s") from None

    async def close(self) -> None:
        """Ends the session."""
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        if self._stream is not None:
            await self._stream.close()

    async def _serve(self) -> None:
        while True:
            stream = RawStream.open(self._address)
            try:
                welcome = await stream.welcome()
                await stream.send(session=self._name)
                self._begin(welcome)
                self._stream = stream
                sending = asyncio.create_task(self._send(stream))
                try:
                    while True:
                        self._receive(await stream.any_frame())
                finally:
                    sending.cancel()
            except RowFailure:
                self._stream = None
                await stream.close()
                await asyncio.sleep(_AGAIN)

    async def _send(self, stream: RawStream) -> None:
        while True:
            while self._waiting:
                taken = [self._waiting.popleft() for _ in range(min(len(self._waiting), _REQUESTS_IN_FRAME))]
                self._unacknowledged.extend(made for made in taken if made.operation == _PUBLISH)
                await stream.send(*taken)
            self._changed.clear()
            await self._changed.wait()

    def _begin(self, welcome: pb.Welcome) -> None:
        former, self._incarnation = self._incarnation, welcome.incarnation
        if not former:
            return
        if former != welcome.incarnation and not welcome.recognises_repeats:
            self._unacknowledged.clear()
        numbers: dict[_Key, int] = {
            (made.client, made.operation, made.id): number for number, made in self._unanswered.items()
        }
        again = [
            request(made.client, numbers.pop(key, 0), made.operation, made.id, made.body)
            for key, made in self._declared.items()
        ]
        publications = [made for made in self._waiting if made.operation == _PUBLISH]
        self._waiting = deque((*again, *self._unacknowledged, *publications))
        self._unacknowledged.clear()
        for number in numbers.values():  # a withdrawal, which the new stream makes needless
            del self._unanswered[number]

    def _receive(self, frame: pb.BrokerFrame) -> None:
        for event in frame.events:
            if event.outcome == NOTIFIED:
                self._on_event(event)
            elif event.outcome in (CONFIRMED, REJECTED):
                self._answered(event)
        while self._unacknowledged and self._unacknowledged[0].number <= frame.acknowledged:
            self._unacknowledged.popleft()

    def _answered(self, event: pb.ClientEvent) -> None:
        made = self._unanswered.pop(event.number, None)
        if event.outcome != REJECTED:
            return
        if made is not None:
            self._declared.pop((made.client, made.operation, made.id), None)
        self._on_event(event)

    def _remember(self, made: pb.ClientRequest) -> None:
        declared, client, id = self._declared, made.client, made.id
        if made.operation == _DETACH:
            for key in [key for key in declared if key[0] == client]:
                del declared[key]
        elif made.operation == Operation.OPERATION_UNADVERTISE:
            declared.pop((client, Operation.OPERATION_ADVERTISE, id), None)
        elif made.operation == Operation.OPERATION_UNSUBSCRIBE:
            for key in [(client, operation, id) for operation in _SUBSCRIBING]:
                declared.pop(key, None)
        else:
            declared[client, made.operation, id] = made
