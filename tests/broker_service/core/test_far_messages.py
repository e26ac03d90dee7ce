"""Messages that travel far carry their way, which no router sees, and by which those that go in circles are named."""

from __future__ import annotations

import pytest

from broker_service.core.contract import ContractError
from broker_service.core.far_messages import FarMessages, in_words
from broker_service.messages import MOST_HOPS, Kind, Message
from broker_service.routing.interface import MalformedMessageError


def message(hops: int, header: bytes = b"own") -> Message:
    return Message(Kind.PUBLISH, "p1", b"body", header, hops)


def test_a_way_grows_from_broker_to_broker_and_is_no_part_of_what_routers_see() -> None:
    first, second = FarMessages("B1", 103), FarMessages("B2", 103)
    assert first.leaving(message(3), "B2") == message(3)
    left = first.leaving(message(4), "B2")
    arrived = second.arrived(left)
    assert (arrived, left.body) == (message(4), b"body")
    made_anew = second.leaving(message(5), "B1")  # a router may pass on a message of its own making
    assert first.arrived(made_anew) == message(5)
    with pytest.raises(ContractError, match=r"and its way since hop 101 is 2 times \(B1, B2\)$"):
        first.leaving(message(104), "B2")


def test_messages_of_large_overlays_carry_no_way_for_their_first_hundred_hops() -> None:
    broker = FarMessages("B1", 1100)
    assert broker.leaving(message(100), "B2").header == b"own"
    assert broker.leaving(message(101), "B2").header != b"own"


def test_built_in_protocols_have_no_bound_and_are_not_looked_at() -> None:
    unbounded = FarMessages("B1", 0)
    assert unbounded.arriving == MOST_HOPS
    assert unbounded.departing > MOST_HOPS
    with pytest.raises(MalformedMessageError, match="it travelled 10001 links"):
        unbounded.arrived(message(MOST_HOPS + 1))


@pytest.mark.parametrize("hops", [1, 2])
def test_a_message_is_passed_on_with_a_hop_more(hops: int) -> None:
    broker, body = FarMessages("B1", 103), b"content"
    came = Message(Kind.PUBLISH, "p1", body, hops=2)
    passed_on = Message(Kind.PUBLISH, "p1", body, b"other", hops)
    broker.arrived(came)
    with pytest.raises(ContractError, match=rf"passes publish 'p1' on to B2 with {hops} hops, and it came with 2;"):
        broker.leaving(passed_on, "B2")
    broker.handled = None  # a timer may send a former copy again
    assert broker.leaving(passed_on, "B2") == passed_on


def test_answers_and_other_messages_are_not_passed_on() -> None:
    broker = FarMessages("B1", 103)
    broker.arrived(Message(Kind.CONTROL, "c", hops=2))
    for answer in (Message(Kind.CONTROL, "c"), Message(Kind.PUBLISH, "c", b"content", hops=1)):
        assert broker.leaving(answer, "B2") == answer


def test_a_message_that_the_router_takes_back_is_as_it_sent_it() -> None:
    far_messages = FarMessages("B1", 103)
    assert far_messages.returned(far_messages.leaving(message(4), "B2")) == message(4)
    assert far_messages.returned(message(3)) == message(3)


@pytest.mark.parametrize("header", [b"", b"own", b"\xff" * 20, b"\xc1\x00\x00\x00\x01"])
def test_a_far_message_without_a_way_is_malformed(header: bytes) -> None:
    with pytest.raises(MalformedMessageError, match="does not say by what way"):
        FarMessages("B1", 103).arrived(message(4, header))


def test_only_so_many_ways_are_remembered() -> None:
    far_messages = FarMessages("B1", 103)
    for number in range(5000):
        left = FarMessages("B2", 103).leaving(Message(Kind.PUBLISH, f"p{number}", hops=4), "B1")
        far_messages.arrived(left)
    assert len(far_messages._ways) <= 1000


@pytest.mark.parametrize(
    ("way", "words"),
    [
        ("ABC", "A, B, C"),
        ("ABABAB", "3 times (A, B)"),
        ("XABCABC", "X, 2 times (A, B, C)"),
        ("ABABA", "A, 2 times (B, A)"),
        ("", ""),
    ],
)
def test_what_a_way_repeats_is_written_once(way: str, words: str) -> None:
    assert in_words(way) == words
