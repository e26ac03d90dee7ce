"""Messages keep the time at which they arrived, however long and in whatever portions they wait for their turn."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from broker_service.config import Limits
from broker_service.links.frames import Hello, MessageFrame
from broker_service.links.overlay_link import OverlayLink
from broker_service.links.session import LinkSession
from broker_service.messages import Kind, Message
from broker_service.tracing.trace import Recorder
from tests.broker_service.overlay import ListTrace

HELLO = Hello(broker="B", incarnation=1, protocol="tid")
LIMITS = Limits(window=1000)


class Notebook:
    """A broker that notes when each message arrived."""

    id = "A"
    incarnation = 1

    def __init__(self) -> None:
        self.link = OverlayLink("B", LIMITS, lambda: 0, Recorder(ListTrace("A"), lambda: 0))
        self.noted: list[tuple[str, int | None]] = []

    def link_up(self, neighbour: str, incarnation: int, handled: int) -> None:
        self.link.connect(incarnation, handled)

    def link_down(self, neighbour: str) -> None:
        self.link.disconnect()

    def receive(self, neighbour: str, messages: Sequence[Message], arrived: int | None) -> None:
        self.link.received += len(messages)
        self.noted += [(message.id, arrived) for message in messages]


def opened() -> tuple[Notebook, LinkSession, int]:
    broker = Notebook()
    session = LinkSession(broker, broker.link, "tid", LIMITS, heartbeat=None)
    stream = session.accept(HELLO, 0)
    session.next_frames(0)
    return broker, session, stream


def messages(first: int, count: int) -> list[Message]:
    return [Message(Kind.PUBLISH, f"P:{number}") for number in range(first, first + count)]


@given(frames=st.lists(st.integers(0, 9), max_size=12), portions=st.lists(st.integers(1, 20), max_size=60))
def test_every_message_has_the_time_of_its_own_frame(frames: list[int], portions: list[int]) -> None:
    broker, session, stream = opened()
    waiting: list[Message] = []
    expected: list[tuple[str, int | None]] = []
    for number, count in enumerate(frames):
        came = session.received(stream, MessageFrame(messages(len(waiting), count)), now=100 * number)
        waiting += came
        expected += [(message.id, 100 * number) for message in came]
    left = waiting
    for portion in [*portions, len(waiting)]:
        session.handle(stream, left[:portion], now=10_000)
        left = left[portion:]
    assert broker.noted == expected


def test_a_driver_may_know_better_when_a_frame_had_left_the_link() -> None:
    broker, session, stream = opened()
    session.handle(stream, session.received(stream, MessageFrame(messages(0, 1)), 50, arrived=20), 70)
    assert broker.noted == [("P:0", 20)]


def test_arrivals_on_a_stream_that_ended_are_forgotten() -> None:
    broker, session, stream = opened()
    session.received(stream, MessageFrame(messages(0, 3)), 50)
    second = session.accept(HELLO, 60)
    session.next_frames(60)
    session.handle(second, session.received(second, MessageFrame(messages(0, 3)), 80), 90)
    assert broker.noted == [("P:0", 80), ("P:1", 80), ("P:2", 80)]
