"""Turns of senders: order for each, a bounded share of every turn, and nothing lost."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence

from hypothesis import given
from hypothesis import strategies as st

from broker_service.service import SLICE_MESSAGES, SLICE_TIME, Turns

FLOOD = 65_536


class Senders:
    """Handlers that note what they are given, in one list; a message takes `cost` nanoseconds."""

    def __init__(self, cost: int = 0) -> None:
        self.now = 0
        self.handled: list[tuple[str, int]] = []
        self.turns = Turns(lambda: self.now)
        self._cost = cost
        self._handlers: dict[str, Callable[[Sequence[int]], None]] = {}

    def submit(self, sender: str, messages: Sequence[int], size: int = 0) -> None:
        def handle(given: Sequence[int]) -> None:
            self.handled += [(sender, message) for message in given]
            self.now += self._cost * len(given)

        self.turns.submit(self._handlers.setdefault(sender, handle), messages, size)


def test_a_frame_of_a_sender_that_keeps_to_the_batch_is_handled_at_once() -> None:
    senders = Senders()
    senders.submit("flood", range(FLOOD))
    senders.submit("honest", range(64))
    assert senders.handled[-64:] == [("honest", number) for number in range(64)]
    assert len(senders.handled) == SLICE_MESSAGES + 64


def test_a_flood_takes_a_slice_of_every_turn() -> None:
    senders = Senders()
    senders.submit("flood", range(FLOOD))
    senders.submit("large", range(3 * SLICE_MESSAGES))
    senders.handled.clear()
    senders.turns.take()
    assert [sender for sender, _ in senders.handled] == ["flood"] * SLICE_MESSAGES + ["large"] * SLICE_MESSAGES
    senders.turns.take()
    assert senders.turns.waiting == FLOOD - 3 * SLICE_MESSAGES


def test_costly_messages_make_a_slice_shorter() -> None:
    senders = Senders(cost=SLICE_TIME)
    senders.submit("costly", range(FLOOD))
    assert len(senders.handled) < SLICE_MESSAGES / 4


def test_a_frame_of_few_long_messages_is_a_turn_for_each() -> None:
    senders = Senders(cost=SLICE_TIME)
    senders.submit("long", range(8), size=8 << 17)
    assert senders.handled == [("long", 0)]
    senders.submit("honest", range(2), size=2_000)
    senders.turns.take()
    assert senders.handled[1:] == [("honest", 0), ("honest", 1), ("long", 1)]


def test_costly_messages_of_a_small_frame_wait_for_their_turn() -> None:
    senders = Senders(cost=SLICE_TIME)
    senders.submit("costly", range(64))
    assert len(senders.handled) <= 16


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 400), st.booleans()), max_size=20))
def test_every_message_is_handled_once_and_in_the_order_of_its_sender(frames: list[tuple[str, int, bool]]) -> None:
    senders, sent = Senders(cost=SLICE_TIME // 50), defaultdict[str, int](int)
    for sender, count, turn in frames:
        senders.submit(sender, range(sent[sender], sent[sender] + count))
        sent[sender] += count
        assert senders.turns.waiting == sum(sent.values()) - len(senders.handled)
        if turn:
            senders.turns.take()
    while senders.turns.waiting:
        senders.turns.take()
    for sender, count in sent.items():
        assert [number for name, number in senders.handled if name == sender] == list(range(count))


def test_what_waits_can_be_taken_away_unhandled() -> None:
    senders = Senders()
    senders.submit("a", range(SLICE_MESSAGES + 2))
    ((_, messages),) = senders.turns.take_all()
    assert list(messages) == [SLICE_MESSAGES, SLICE_MESSAGES + 1]
    senders.turns.take()
    assert (senders.turns.waiting, len(senders.handled)) == (0, SLICE_MESSAGES)
