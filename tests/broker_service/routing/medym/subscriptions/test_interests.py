"""Sums of subscriptions, against sets of the subscriptions that clients have."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_service.language.content import decode_publication, encode_predicates, encode_publication
from broker_service.language.notation import parse_publication, parse_subscription
from broker_service.messages import Kind, Message
from broker_service.routing.common.decoding import encode_header
from broker_service.routing.interface import MalformedMessageError
from broker_service.routing.interface.matcher import Comparisons, Matcher
from broker_service.routing.medym.messages import Bundle, State, Version, decode_control
from broker_service.routing.medym.sums import EMPTY, KnownSums, OwnSum, SumChange
from broker_service.tracing.trace import Recorder
from tests.broker_service.overlay import ListTrace

SERVERS = 12
SUBSCRIPTIONS = [encode_predicates(parse_subscription(f"[value,>=,{bound}]").predicates) for bound in range(4)]
A, B, C = SUBSCRIPTIONS[:3]


def matcher() -> Matcher[bytes]:
    return Matcher(Comparisons(time.perf_counter_ns, decode_publication, Recorder(ListTrace("B1"), time.time_ns)))


def sums(own: int = 7) -> KnownSums:
    return KnownSums(matcher(), SERVERS, own)


def published(value: int) -> Message:
    return Message(Kind.PUBLISH, "p", encode_publication(parse_publication(f"[class,'E'],[value,{value}]")))


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
            others.change(3, own.announce())
        elif step == "=":
            others.replace(3, own.announced)
            assert sorted(others.held_by(3)) == sorted(own.announced)
    wanted = {number for number, subscription in enumerate(SUBSCRIPTIONS) if subscription in clients}
    for value in range(4):
        destinations = others.matching(published(value), 7).tolist()
        assert destinations == ([3, 7] if any(bound <= value for bound in wanted) else [7])


def test_a_whole_sum_takes_the_place_of_what_was_known() -> None:
    others = sums()
    others.change(3, SumChange((A,)))
    others.replace(3, (B,))
    assert others.texts([f"B{number}" for number in range(SERVERS)]) == {"B3": ["[value,>=,1]"]}
    others.replace(3, ())
    assert others.matching(published(1), 0).tolist() == [0]


def test_the_sum_of_one_server_takes_no_other_with_it() -> None:
    others = sums()
    for server in (3, 4):
        others.change(server, SumChange((A,)))
    others.replace(3, ())
    assert others.matching(published(0), 0).tolist() == [0, 4]


STEP = st.tuples(
    st.integers(0, 2),
    st.integers(0, 4),
    st.lists(st.sampled_from(SUBSCRIPTIONS)),
    st.lists(st.sampled_from(SUBSCRIPTIONS)),
)
"""The server that learns of a change, the server whose sum changes, and what is added and withdrawn."""


@given(st.lists(STEP, max_size=30), st.data())
def test_servers_of_one_process_know_what_each_of_them_was_told(
    steps: list[tuple[int, int, list[bytes], list[bytes]]], data: st.DataObject
) -> None:
    """They share sums and indexes, and learn of changes in different orders, or of others."""
    known = [sums(own) for own in range(3)]
    wanted: list[dict[int, set[bytes]]] = [{server: set() for server in range(5)} for _ in known]
    for learning, server, added, withdrawn in steps:
        known[learning].change(server, SumChange(tuple(added), tuple(withdrawn)))
        wanted[learning][server] = (wanted[learning][server] | set(added)) - set(withdrawn)
        for asked in data.draw(st.sets(st.integers(0, 2))):
            for value in range(4):
                matching = set(SUBSCRIPTIONS[: value + 1])
                found = {other for other, held in wanted[asked].items() if held & matching} | {asked}
                assert known[asked].matching(published(value), asked).tolist() == sorted(found)
    for told, sums_of in zip(known, wanted, strict=True):
        assert [set(told.held_by(server)) for server in sums_of] == list(sums_of.values())


def test_equal_sums_are_one_object_however_they_came_about() -> None:
    both = EMPTY.after(SumChange((A, B)))
    assert EMPTY.after(SumChange((B,))).after(SumChange((A,))) is both
    assert both.after(SumChange((), (A, B))) is EMPTY


def test_one_change_makes_of_each_sum_another() -> None:
    """An announcement may be applied by servers of which one knows more than the others."""
    change, known = SumChange((A,)), EMPTY.after(SumChange((B,)))
    for _ in range(2):
        assert list(EMPTY.after(change).subscriptions) == [A]
        assert set(known.after(change).subscriptions) == {A, B}


def test_servers_whose_sums_differ_little_share_an_index() -> None:
    made = [matcher(), matcher()]
    for index, further in zip(made, ((), (B,)), strict=True):
        known = KnownSums(index, SERVERS, 7)
        for server in range(5):
            known.change(server, SumChange((A, C)))
        known.change(5, SumChange(further))
        assert known.matching(published(1), 7).tolist() == [0, 1, 2, 3, 4, *(5 for _ in further), 7]
    assert made[0].shared is made[1].shared is not None
    assert [len(index) for index in made] == [2, 3]


def test_a_server_does_not_count_its_own_sum_among_those_of_others() -> None:
    known = sums(own=3)
    known.change(3, SumChange((A,)))
    assert known.texts([f"B{number}" for number in range(SERVERS)]) == {}


def test_a_subscription_that_cannot_be_decoded_is_malformed() -> None:
    with pytest.raises(MalformedMessageError):
        sums().change(3, SumChange((A, b"nonsense")))
    with pytest.raises(MalformedMessageError):
        decode_control(encode_header(Bundle((State(3, Version(1, 1), (A, b"nonsense")),))))
