"""Messages about streams and detours that no correct neighbour sends: refused without a change, and never a failure."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker_service.language.content import encode_publication
from broker_service.language.notation import parse_publication
from broker_service.messages import Kind, Message
from broker_service.routing.common.decoding import encode_header
from broker_service.routing.gryphon.detours.messages import Detour, DetourControl, Seek, Ways
from broker_service.routing.gryphon.streams.messages import (
    MOST_POSITION,
    MOST_RANGES,
    Acknowledge,
    Head,
    Nack,
    Silence,
    Stamp,
    StreamControl,
)
from broker_service.routing.gryphon.virtual_time import encode_vector
from broker_service.routing.interface import MalformedMessageError
from tests.broker_service.routing.gryphon.router_overlay import LINES, RouterOverlay

LEAF = LINES.leaves
A, B1, B2, C1, D = (LEAF[name] for name in ("a", "b1", "b2", "c1", "d"))
VECTOR = encode_vector({D: 1})
FAR = 99
RECEIVER = "b1"
BODY = encode_publication(parse_publication("[class,'E']"))

REFUSED: Mapping[str, tuple[str, Stamp | StreamControl | DetourControl]] = {
    "a publication of a stream that is not there": ("a", Stamp(FAR, 1, 0, 0)),
    "a publication of the receiver's stream": ("a", Stamp(B1, 1, 0, 0)),
    "a publication from downstream": ("c1", Stamp(A, 1, 0, 0)),
    "a publication sideways from another node": ("a", Stamp(A, 1, 0, 0, True)),
    "a publication without a position": ("a", Stamp(A, 0, 0, 0)),
    "a publication beyond all positions": ("a", Stamp(A, MOST_POSITION, 0, 0)),
    "a publication with silence before the first position": ("a", Stamp(A, 3, 3, 0)),
    "a publication older than the stream": ("a", Stamp(A, 3, 0, 3)),
    "a vector that differs from a later one": ("a", Stamp(A, 3, 0, 1, base=3, vector=VECTOR)),
    "a publication with a vector of other leaves": ("a", Stamp(A, 9, 0, 0, vector=encode_vector({FAR: 1}))),
    "a publication with half a vector": ("a", Stamp(A, 9, 0, 0, vector=b"\x01")),
    "an end before the first position": ("a", Head(A, 2, 0, 1, VECTOR, 3, (D,))),
    "an end beyond all positions": ("a", Head(A, MOST_POSITION, 0, 1, VECTOR, 1, (D,))),
    "an end with silence before the first position": ("a", Head(A, 2, 2, 1, VECTOR, 1, (D,))),
    "an end with a vector of later": ("a", Head(A, 2, 0, 3, VECTOR, 1, (D,))),
    "an end of the receiver's stream": ("a", Head(B1, 2, 0, 1, VECTOR, 1, (D,))),
    "an end from downstream": ("c1", Head(A, 2, 0, 1, VECTOR, 1, (D,))),
    "a request for no positions": ("c1", Nack(A, ((2, 2),))),
    "a request for positions out of order": ("c1", Nack(A, ((3, 4), (1, 2)))),
    "a request for positions before the first": ("c1", Nack(A, ((0, 2),))),
    "a request for too many ranges": ("c1", Nack(A, tuple((2 * at, 2 * at + 1) for at in range(1, MOST_RANGES + 2)))),
    "a request from upstream": ("a", Nack(A, ((1, 2),))),
    "a request for a stream that is not there": ("c1", Nack(FAR, ((1, 2),))),
    "silence beyond all positions": ("a", Silence(A, ((1, MOST_POSITION),))),
    "silence from downstream": ("c1", Silence(A, ((1, 2),))),
    "silence sideways from another node": ("a", Silence(A, ((1, 2),), True)),
    "an acknowledgement of leaves that are not there": ("c1", Acknowledge(A, {FAR: 1})),
    "an acknowledgement beyond all positions": ("c1", Acknowledge(A, {D: MOST_POSITION})),
    "an acknowledgement of negative positions": ("c1", Acknowledge(A, {D: -1})),
    "an acknowledgement for a stream that is not there": ("c1", Acknowledge(FAR, {D: 1})),
    "a detour to a broker that is no neighbour": ("b2", Seek((D,))),
    "a detour to the seeker itself": ("b2", Seek((B2,))),
    "a detour between nodes that are no neighbours": ("a", Seek((C1,))),
    "a way to a broker that is no neighbour": ("b2", Ways({D: 1})),
    "a way to the broker that offers it": ("b2", Ways({B2: 1})),
    "a way to an incarnation that never was": ("b2", Ways({A: 0})),
    "a message in the name of another broker": ("b2", Detour(A, 1, C1, 6, "", b"", 1, 0)),
    "a message to a broker that is no neighbour": ("b2", Detour(B2, 1, D, 6, "", b"", 1, 0)),
    "a message from a broker that is no neighbour": ("b2", Detour(D, 1, B1, 6, "", b"", 1, 0)),
    "a message that the neighbour could send itself": ("b2", Detour(B2, 1, B1, 6, "", b"", 1, 0)),
    "a subscription on a detour": ("b2", Detour(A, 1, B1, int(Kind.SUBSCRIBE), "", b"", 1, 0)),
    "a message from too far": ("b2", Detour(A, 1, B1, 6, "", b"", 1 << 60, 0)),
    "a message published beyond all times": ("b2", Detour(A, 1, B1, 6, "", b"", 1, (1 << 64) - 1)),
    "a malformed message on a detour": ("b2", Detour(A, 1, B1, 6, "", b"\xff", 1, 0)),
    "a refused message on a detour": ("b2", Detour(A, 1, B1, 6, "", encode_header(Nack(A, ((2, 2),))), 1, 0)),
}


@pytest.fixture(scope="module")
def overlay() -> RouterOverlay:
    overlay = RouterOverlay(LINES)
    overlay.subscribe("S", "d")
    overlay.settle()
    overlay.publish("a")
    overlay.settle()
    return overlay


@pytest.mark.parametrize(("sender", "header"), REFUSED.values(), ids=REFUSED)
def test_hostile_messages_are_refused_and_change_nothing(
    overlay: RouterOverlay, sender: str, header: Stamp | StreamControl | DetourControl
) -> None:
    before = state_of(overlay)
    with pytest.raises(MalformedMessageError):
        overlay.receive(sender, RECEIVER, carrying(header))
    assert state_of(overlay) == before


def test_a_publication_with_a_malformed_content_changes_nothing(overlay: RouterOverlay) -> None:
    before = state_of(overlay)
    with pytest.raises(MalformedMessageError):
        overlay.receive("a", RECEIVER, Message(Kind.PUBLISH, "e", b"\xff", encode_header(Stamp(A, 9, 0, 8)), hops=1))
    assert state_of(overlay) == before


def test_messages_on_too_many_detours_end_without_a_change() -> None:
    overlay = RouterOverlay(LINES)
    before = state_of(overlay)
    header = encode_header(Nack(A, ((1, 2),)))
    for sender in (A, C1) * 500:
        header = encode_header(Detour(sender, 1, B1, 6, "", header, 1, 0))
    overlay.receive("b2", RECEIVER, Message(Kind.CONTROL, "", header=header, hops=1))
    assert state_of(overlay) == before


numbers = st.sampled_from((-1, 0, 1, 2, 3, 1 << 31, 1 << 32, MOST_POSITION - 1, (1 << 63) - 1, (1 << 64) - 1))
leaves = st.sampled_from((-1, 0, *LEAF.values(), FAR, 1 << 40))
vectors = st.none() | st.sampled_from((b"", VECTOR, b"\xff", b"\x01", encode_vector({A: 1, C1: 1 << 40})))
ranges = st.lists(st.tuples(numbers, numbers), max_size=3).map(tuple)
several = st.lists(leaves, max_size=3).map(tuple)
wire = st.one_of(
    st.builds(Stamp, leaves, numbers, numbers, numbers, st.booleans(), st.booleans(), numbers, vectors),
    st.builds(
        Head,
        leaves,
        numbers,
        numbers,
        numbers,
        vectors,
        numbers,
        st.lists(leaves, max_size=3).map(tuple),
        st.booleans(),
    ),
    st.builds(Nack, leaves, ranges),
    st.builds(Silence, leaves, ranges, st.booleans()),
    st.builds(Acknowledge, leaves, st.dictionaries(leaves, numbers, max_size=3)),
    st.builds(Seek, several),
    st.builds(Ways, st.dictionaries(leaves, numbers, max_size=3)),
)
on_detours = st.builds(
    lambda sender, incarnation, receiver, header, published: Detour(
        sender, incarnation, receiver, 5 if isinstance(header, Stamp) else 6, "e", encode_header(header), 1, published
    ),
    leaves,
    numbers,
    leaves,
    wire,
    numbers,
)


@settings(max_examples=60, deadline=None)
@given(messages=st.lists(st.tuples(st.sampled_from(("a", "b2", "c1", "c2")), wire | on_detours), max_size=12))
def test_whatever_comes_is_refused_without_a_change_or_handled(
    messages: list[tuple[str, Stamp | StreamControl | DetourControl]],
) -> None:
    overlay = RouterOverlay(LINES)
    overlay.subscribe("S", RECEIVER)
    overlay.quiet()
    for number, (sender, header) in enumerate(messages):
        if number == 6:
            overlay.cut(RECEIVER, "b2")
        before = state_of(overlay)
        try:
            overlay.receive(sender, RECEIVER, carrying(header))
        except MalformedMessageError:
            assert state_of(overlay) == before
    running = overlay.brokers[RECEIVER]
    for key in list(running.timers):
        running.router.timer(key)
    assert len(running.timers) <= 3 * len(LINES.brokers) * 3


def carrying(header: Stamp | StreamControl | DetourControl) -> Message:
    kind = Kind.PUBLISH if isinstance(header, Stamp) else Kind.CONTROL
    return Message(kind, "e", BODY, encode_header(header), hops=1)


def state_of(overlay: RouterOverlay) -> object:
    """Everything in which the receiver may differ."""
    router = overlay.brokers[RECEIVER].router
    streams = {
        stream: (state.end, state.first, state.horizon.next, [*state.silent], [*state.relayed], [*state.cache])
        for stream, state in router._forwarding.streams.items()
        if state.end
    }
    detours = router._detours
    return (
        dict(router._state.known),
        router.tables()["roots"],
        streams,
        dict(detours._found),
        dict(detours.offered.seekers),
        dict(detours.open),
        dict(overlay.brokers[RECEIVER].timers),
    )
