"""One stream of a client session, as its frames are: it does what it is told to, mistakes included."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Self

import grpc
import grpc.aio

from broker_service.generated import broker_pb2 as pb
from studies.broker_kit.failures import RowFailure

ANSWER_WITHIN = 10.0
"""Seconds in which a broker answers at the latest. Machines that are busy with other work take their time."""
LARGEST_FRAME = 64 << 20

_METHOD = "/brokerlab.v1.BrokerClient/Session"
_OPTIONS = (
    ("grpc.use_local_subchannel_pool", 1),  # a connection of its own
    ("grpc.max_receive_message_length", LARGEST_FRAME),
    ("grpc.max_send_message_length", LARGEST_FRAME),
)

_END: Any = grpc.aio.EOF  # type: ignore[attr-defined]

Operation = pb.Operation
CONFIRMED, REJECTED, NOTIFIED = pb.OUTCOME_CONFIRMED, pb.OUTCOME_REJECTED, pb.OUTCOME_NOTIFIED


def request(client: str, number: int, operation: int, id: str = "", body: bytes = b"") -> pb.ClientRequest:
    """One request of a client."""
    return pb.ClientRequest(client=client, number=number, operation=operation, id=id, body=body)  # type: ignore[arg-type]


class FrameStream:
    """A stream that is open, and the frames that came on it."""

    def __init__(self, channel: Any, call: Any, *, reads: bool = True) -> None:
        """A stream that does not read leaves what the broker sends to the connection's flow control."""
        self._channel = channel
        self._call = call
        self._frames: deque[pb.BrokerFrame] = deque()
        self._came = asyncio.Event()
        self._over = False
        self._due = "a frame"
        """The thing that is waited for, in words."""
        self._reader = asyncio.create_task(self._read()) if reads else None

    @classmethod
    def open(cls, address: str, *, compressed: bool = False, reads: bool = True) -> Self:
        """Opens a stream to the broker at `unix:/path`; nothing is sent on it yet."""
        compression = grpc.Compression.Gzip if compressed else None
        channel: Any = grpc.aio.insecure_channel(address, options=_OPTIONS, compression=compression)
        method = channel.stream_stream(_METHOD, response_deserializer=pb.BrokerFrame.FromString)
        return cls(channel, method(), reads=reads)

    # Sending

    async def send(self, *requests: pb.ClientRequest, session: str = "") -> None:
        """Sends one frame. Nothing happens on a stream that has ended."""
        await self.send_bytes(pb.ClientFrame(requests=requests, session=session).SerializeToString())

    async def send_bytes(self, frame: bytes) -> None:
        """Sends bytes that need be no frame."""
        try:
            async with asyncio.timeout(ANSWER_WITHIN):
                await self._call.write(frame)
        except (grpc.RpcError, asyncio.InvalidStateError, TimeoutError):
            pass  # the status tells

    async def close_own_side(self) -> None:
        """Says that no further frame comes."""
        await self._call.done_writing()

    def break_off(self) -> None:
        """Breaks the stream as a client does that has lost patience."""
        self._call.cancel()

    async def close(self) -> None:
        """Closes the connection."""
        if self._reader is not None:
            self._reader.cancel()
        await self._channel.close()

    # Receiving

    async def frame(self) -> pb.BrokerFrame:
        """The next frame. Raises `RowFailure` when the stream ends or nothing comes."""
        await self._until(lambda: bool(self._frames), self._due)
        return self._frames.popleft()

    async def any_frame(self) -> pb.BrokerFrame:
        """The next frame, however long it takes. Raises `RowFailure` when the stream ends."""
        while not self._frames:
            if self._over:
                raise RowFailure(f"the stream has ended: {await self._ending()}")
            self._came.clear()
            await self._came.wait()
        return self._frames.popleft()

    async def status(self) -> grpc.StatusCode:
        """The status with which the broker ended the stream; frames before it are left."""
        await self._until(lambda: self._over, "the end of the stream", ending=True)
        code: grpc.StatusCode = await self._call.code()
        return code

    @property
    def ended(self) -> bool:
        return self._over

    async def take_unread(self, count: int) -> Sequence[pb.BrokerFrame]:
        """Reads frames of a stream that does not read by itself."""
        return [await self._call.read() for _ in range(count)]

    async def _until(self, condition: Callable[[], bool], what: str, *, ending: bool = False) -> None:
        try:
            async with asyncio.timeout(ANSWER_WITHIN):
                while not condition():
                    if self._over and not ending:
                        raise RowFailure(f"{what} is due, and the stream has ended: {await self._ending()}")
                    self._came.clear()
                    await self._came.wait()
        except TimeoutError:
            raise RowFailure(f"{what} is due, and nothing came for {ANSWER_WITHIN:g} s") from None

    async def _ending(self) -> str:
        code = await self._call.code()
        details = await self._call.details()
        return f"{code.name}, {details}"

    async def _read(self) -> None:
        try:
            while (frame := await self._call.read()) is not _END:
                self._frames.append(frame)
                self._came.set()
        except (grpc.RpcError, asyncio.CancelledError):
            pass  # the status tells
        self._over = True
        self._came.set()


class RawStream(FrameStream):
    """A stream whose events are taken one by one."""

    def __init__(self, channel: Any, call: Any, *, reads: bool = True) -> None:
        super().__init__(channel, call, reads=reads)
        self._events: deque[pb.ClientEvent] = deque()
        self.acknowledged = 0
        """The greatest number that the broker has acknowledged, of the frames taken so far."""
        self.notified: list[pb.ClientEvent] = []
        """Notifications taken so far."""

    async def welcome(self) -> pb.Welcome:
        """The first frame's welcome."""
        frame = await self.frame()
        if not frame.HasField("welcome"):
            raise RowFailure("the first frame of the broker is no welcome")
        return frame.welcome

    async def event(self) -> pb.ClientEvent:
        """The next event of any kind."""
        while not self._events:
            frame = await self.frame()
            self._events.extend(frame.events)
            if frame.acknowledged:
                self.acknowledged = frame.acknowledged
        return self._events.popleft()

    async def answer(self, number: int) -> pb.ClientEvent:
        """The next confirmation or rejection, which is to have this number. Notifications before it are kept."""
        self._due = f"the answer to request {number}"
        while True:
            event = await self.event()
            if event.outcome in (CONFIRMED, REJECTED):
                if event.number != number:
                    raise RowFailure(f"request {number} is due to be answered, and the broker answered {event.number}")
                return event
            self.notified.append(event)

    async def confirmed(self, *numbers: int) -> None:
        """Takes the confirmations of these requests, in this order."""
        for number in numbers:
            event = await self.answer(number)
            if event.outcome != CONFIRMED:
                raise RowFailure(f"request {number} was rejected, and should be confirmed: {event.reason!r}")

    async def rejected(self, number: int, why: str) -> pb.ClientEvent:
        """Takes the rejection of a request; `why` completes the sentence that it should have been rejected."""
        event = await self.answer(number)
        if event.outcome != REJECTED:
            raise RowFailure(f"request {number} was confirmed, and should be rejected: {why}")
        return event

    async def notification(self) -> pb.ClientEvent:
        """The next notification."""
        self._due = "a notification"
        event = await self.event()
        if event.outcome != NOTIFIED:
            raise RowFailure(
                f"a notification is due, and the broker sent {pb.Outcome.Name(event.outcome)}: {event.reason!r}"
            )
        self.notified.append(event)
        return event

    async def notified_until(self, id: str) -> list[tuple[str, str]]:
        """All notifications up to that of a publication with this id, each as client and id."""
        self._due = f"a notification of {id!r}"
        while not any(event.id == id for event in self.notified):
            event = await self.event()
            if event.outcome == NOTIFIED:
                self.notified.append(event)
        notified, self.notified = self.notified, []
        return [(client, event.id) for event in notified for client in event.clients]

    async def acknowledgement(self, number: int) -> None:
        """Returns once all publications up to this number are acknowledged."""
        self._due = f"the acknowledgement of publication {number}"
        while self.acknowledged < number:
            frame = await self.frame()
            self._events.extend(frame.events)
            self.acknowledged = max(self.acknowledged, frame.acknowledged)
