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
from broker_service.routing.medym.interests import OtherSums, OwnSum, SumChange
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


def changed(others: OtherSums, server: int, change: SumChange) -> None:
    others.change(server, change, others.decoded(change.added))


def test_equal_subscriptions_are_announced_once_and_withdrawn_with_the_last() -> None:
    own = OwnSum()
    own.add(A)
    own.add(A)
    assert own.announce() == SumChange((A,), ())
    own.remove(A)
    assert own.announce() == SumChange()
    own.remove(A)
    assert own.announce() == SumChange((), (A,))
    assert own.announced == ()


def test_what_is_taken_back_before_it_was_announced_is_not_announced() -> None:
    own = OwnSum()
    own.add(A)
    own.remove(A)
    assert own.announce() == SumChange()


@given(st.lists(st.tuples(st.sampled_from("+-!="), st.sampled_from(SUBSCRIPTIONS)), max_size=40))
def test_others_know_the_sum_as_it_was_announced(steps: list[tuple[str, bytes]]) -> None:
    own, others, clients = OwnSum(), sums(), list[bytes]()
    for step, subscription in [*steps, ("!", A)]:
        if step == "+":
            clients.append(subscription)
            own.add(subscription)
        elif step == "-" and subscription in clients:
            clients.remove(subscription)
            own.remove(subscription)
        elif step == "!":
            changed(others, 3, own.announce())
        elif step == "=":
            others.replace(3, own.announced, others.decoded(own.announced))
            assert sorted(others.held_by(3)) == sorted(own.announced)
    wanted = {number for number, subscription in enumerate(SUBSCRIPTIONS) if subscription in clients}
    for value in range(4):
        destinations = others.matching(published(value), 7).tolist()
        assert destinations == ([3, 7] if any(bound <= value for bound in wanted) else [7])


def test_a_whole_sum_takes_the_place_of_what_was_known() -> None:
    others = sums()
    changed(others, 3, SumChange((A,)))
    others.replace(3, (B,), others.decoded((B,)))
    assert others.texts([f"B{number}" for number in range(SERVERS)]) == {"B3": ["[value,>=,1]"]}
    others.replace(3, (), {})
    assert others.matching(published(1), 0).tolist() == [0]


def test_the_sum_of_one_server_takes_no_other_with_it() -> None:
    others = sums()
    for server in (3, 4):
        changed(others, server, SumChange((A,)))
    others.replace(3, (), {})
    assert others.matching(published(0), 0).tolist() == [0, 4]


def test_a_subscription_that_was_withdrawn_since_it_was_read_is_read_again() -> None:
    others = sums()
    changed(others, 3, SumChange((A,)))
    decoded = others.decoded((A,))
    others.change(3, SumChange((), (A,)), decoded)
    others.change(4, SumChange((A,)), decoded)
    assert others.matching(published(0), 0).tolist() == [0, 4]


def test_a_subscription_that_cannot_be_decoded_is_malformed() -> None:
    with pytest.raises(MalformedMessageError):
        sums().decoded((A, b"nonsense"))
