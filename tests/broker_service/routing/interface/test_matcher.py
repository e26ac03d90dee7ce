"""The matcher of routers: what it finds, how it is timed, and when it logs."""

from __future__ import annotations

from itertools import count

import pytest

from broker_service.language import ContentError, Publication, Subscription
from broker_service.language.content import decode_publication, encode_publication
from broker_service.matching import MatchIndex
from broker_service.messages import Kind, Message
from broker_service.routing.interface import MalformedMessageError
from broker_service.routing.interface.matcher import Comparisons, Matcher
from broker_service.tracing.trace import Recorder
from record.log import Event
from tests.broker_service.overlay import ListTrace
from tests.broker_service.routing.stocks import above, quote


class Bench:
    """A matcher with two subscriptions, whose stopwatch counts its readings."""

    def __init__(self) -> None:
        readings = count()
        self.trace = ListTrace("B1")
        self.comparisons = Comparisons(lambda: next(readings), decode_publication, Recorder(self.trace, lambda: 500))
        self.matcher: Matcher[str] = Matcher(self.comparisons)
        self.matcher.add("dear", Subscription(above(50)))
        self.matcher.add("any", Subscription(above(0)))


def message(price: float) -> Message:
    return Message(Kind.PUBLISH, "P:1", encode_publication(Publication(quote(price))))


@pytest.mark.parametrize(("price", "found"), [(60, {"dear", "any"}), (10, {"any"}), (0, set())])
def test_it_finds_the_same_decoded_or_not(price: float, found: set[str]) -> None:
    bench = Bench()
    assert set(bench.matcher.match(message(price))) == found
    assert set(bench.matcher.match_decoded("P:1", Publication(quote(price)))) == found
    bench.matcher.remove("any")
    assert set(bench.matcher.match(message(price))) == found - {"any"}
    assert ("dear" in bench.matcher, "any" in bench.matcher, len(bench.matcher)) == (True, False, 1)


def test_a_shared_index_stays_as_it_is() -> None:
    bench, other = Bench(), Bench()
    index: MatchIndex[str] = MatchIndex()
    index.add("any", Subscription(above(0)))
    for matcher in (bench.matcher, other.matcher):
        matcher.share(index)
    bench.matcher.add("dear", Subscription(above(50)))
    bench.matcher.remove("any")
    assert (bench.matcher.match(message(60)), other.matcher.match(message(60))) == (["dear"], ["any"])
    assert ("any" in bench.matcher, "dear" in bench.matcher, len(bench.matcher), len(other.matcher)) == (
        False,
        True,
        1,
        1,
    )
    with pytest.raises(KeyError):
        bench.matcher.remove("any")
    bench.matcher.add("any", Subscription(above(0)))
    assert sorted(bench.matcher.match(message(60))) == ["any", "dear"]
    bench.matcher.remove("any")
    assert bench.matcher.match(message(60)) == ["dear"]


def test_decoding_is_timed_apart_and_comparisons_are_logged_when_asked_for() -> None:
    bench = Bench()
    bench.matcher.match(message(60))
    bench.matcher.match_decoded("P:2", Publication(quote(10)))
    assert bench.trace.records == []
    bench.matcher.match(message(70))
    assert bench.comparisons.decoding == 2
    bench.comparisons.log()
    bench.comparisons.log()
    assert bench.comparisons.decoding == 0
    logged = [(record.id, record.kind, record.count, record.duration) for record in bench.trace.of(Event.MATCHED)]
    assert logged == [("P:1", "publish", 2, 1), ("P:2", "publish", 1, 1), ("P:1", "publish", 2, 1)]


def test_content_that_cannot_be_decoded_is_malformed_and_no_comparison() -> None:
    bench = Bench()
    with pytest.raises(MalformedMessageError):
        bench.matcher.match(Message(Kind.PUBLISH, "P:1", b"\xff garbage"))
    assert bench.comparisons.pending == []


def test_comparisons_of_a_message_that_turns_out_malformed_leave_nothing_behind() -> None:
    bench = Bench()
    bench.matcher.match(message(60))
    bench.comparisons.discard()
    bench.comparisons.log()
    assert (bench.comparisons.decoding, bench.trace.records) == (0, [])


def test_the_content_of_one_message_is_decoded_once() -> None:
    decoded: list[bytes] = []

    def decode(body: bytes) -> Publication:
        decoded.append(body)
        return decode_publication(body)

    comparisons = Comparisons(lambda: 0, decode, Recorder(ListTrace("B1"), lambda: 0))
    first, second, malformed = message(60).body, message(10).body, b"\xff"
    for body in (first, first, second, first):
        assert comparisons.decode(body) == decode_publication(body)
    assert decoded == [first, second, first]
    for _ in range(2):
        with pytest.raises(ContentError):
            comparisons.decode(malformed)
    assert comparisons.decode(first) == decode_publication(first)
    assert decoded == [first, second, first, malformed, malformed]
