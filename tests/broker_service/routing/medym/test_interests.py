"""Sums of subscriptions, against sets of the subscriptions that clients have."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_service.errors import MalformedMessageError
from broker_service.language.notation import parse_publication, parse_subscription
from broker_service.language.wire import decode_publication, encode_predicates, encode_publication
from broker_service.messages import Kind, Message
from broker_service.routing.matcher import Comparisons, Matcher
from broker_service.routing.medym.interests import OtherSums, OwnSum
from broker_service.routing.medym.messages import Announcement
from broker_service.trace import Recorder
from tests.broker_service.overlay import ListTrace

SERVERS = 12
SUBSCRIPTIONS = [encode_predicates(parse_subscription(f"[value,>=,{bound}]").predicates) for bound in range(4)]
A, B = SUBSCRIPTIONS[:2]


def matcher() -> Matcher[bytes]:
    return Matcher(Comparisons(time.perf_counter_ns, decode_publication, Recorder(ListTrace("B1"), time.time_ns)))


def sums() -> OtherSums:
    return OtherSums(matcher(), SERVERS)


def published(value: int) -> Message:
    return Message(Kind.PUBLISH, "p", encode_publication(parse_publication(f"[class,'E'],[value,{value}]")))


def test_equal_subscriptions_are_announced_once_and_withdrawn_with_the_last() -> None:
    own = OwnSum(1)
    own.add(A)
    own.add(A)
    assert own.announcement() == Announcement(1, 1, (A,), ())
    own.remove(A)
    assert own.announcement() is None
    own.remove(A)
    assert own.announcement() == Announcement(1, 2, (), (A,))
    assert own.whole().subscriptions == ()


def test_what_is_taken_back_before_it_was_announced_is_not_announced() -> None:
    own = OwnSum(1)
    own.add(A)
    own.remove(A)
    assert own.announcement() is None


@given(st.lists(st.tuples(st.sampled_from("+-!"), st.sampled_from(SUBSCRIPTIONS)), max_size=40))
def test_others_know_the_sum_as_it_was_announced(steps: list[tuple[str, bytes]]) -> None:
    own, others, clients = OwnSum(1), sums(), list[bytes]()
    for step, subscription in [*steps, ("!", A)]:
        if step == "+":
            clients.append(subscription)
            own.add(subscription)
        elif step == "-" and subscription in clients:
            clients.remove(subscription)
            own.remove(subscription)
        elif step == "!" and (announcement := own.announcement()):
            assert others.apply(3, announcement)
    wanted = {number for number, subscription in enumerate(SUBSCRIPTIONS) if subscription in clients}
    for value in range(4):
        destinations = others.matching(published(value), 7).tolist()
        assert destinations == ([3, 7] if any(bound <= value for bound in wanted) else [7])


def test_an_announcement_is_applied_once_and_in_order() -> None:
    others = sums()
    assert others.apply(3, Announcement(1, 1, (A,), ()))
    assert others.apply(3, Announcement(1, 2, (B,), (A,)))
    assert others.apply(3, Announcement(1, 1, (A,), ()))
    assert others.matching(published(0), 0).tolist() == [0]
    assert others.matching(published(1), 0).tolist() == [0, 3]
    assert not others.apply(3, Announcement(1, 4, (A,), ()))
    assert others.matching(published(0), 0).tolist() == [0]


def test_a_whole_sum_makes_up_for_what_was_missed() -> None:
    own, others = OwnSum(1), sums()
    own.add(A)
    assert others.apply(3, first) if (first := own.announcement()) else False
    own.remove(A)
    own.announcement()
    own.add(B)
    missed = own.announcement()
    assert missed is not None
    assert not others.apply(3, missed)
    others.replace(3, own.whole())
    assert others.texts([f"B{number}" for number in range(SERVERS)]) == {"B3": ["[value,>=,1]"]}
    others.replace(3, OwnSum(1).whole())
    assert others.matching(published(1), 0).tolist() == [0, 3]


def test_a_forgotten_server_takes_no_other_with_it() -> None:
    others = sums()
    for server in (3, 4):
        others.apply(server, Announcement(1, 1, (A,), ()))
    others.forget(3)
    assert others.matching(published(0), 0).tolist() == [0, 4]
    assert others.apply(3, Announcement(2, 1, (A,), ()))


def test_a_subscription_that_cannot_be_decoded_changes_nothing() -> None:
    others = sums()
    with pytest.raises(MalformedMessageError):
        others.apply(3, Announcement(1, 1, (A, b"nonsense"), ()))
    assert others.matching(published(0), 0).tolist() == [0]
