"""Requests for positions that a leaf lacks: not too early, and not again before an answer can be there."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from broker_service.messages import Kind, Message
from broker_service.routing.gryphon.streams.gap_requests import GapRequests
from broker_service.routing.gryphon.streams.horizon import Horizon
from broker_service.routing.gryphon.streams.publications import Held
from broker_service.routing.gryphon.streams.ranges import Range

GAP_AFTER, NACK_AGAIN = 0.02, 0.1
STEP = 0.005
"""Seconds between two looks."""


class Leaf:
    """A horizon and its requests, which time passes for."""

    def __init__(self) -> None:
        self.horizon = Horizon(1 << 30)
        self.horizon.follow(1)
        self.requests = GapRequests(GAP_AFTER, NACK_AGAIN)
        self.now = 0.0
        self.asked: list[tuple[float, list[Range]]] = []
        """Moment and positions of each request."""

    def arrives(self, *positions: int, again: bool = False) -> None:
        for position in positions:
            if not again:
                self.requests.came_by_itself(position, self.horizon.knows(position), self.now)
            self.horizon.publication(Held(position, Message(Kind.PUBLISH, f"p{position}", b""), {}))
            if again:
                self.requests.answer(position, position + 1, 1, self.now)
            else:
                self.requests.known(position, position + 1)
        list(self.horizon.ready())
        if self.horizon.lacks:
            self.requests.missed(self.horizon.end, self.now)

    def is_silent(self, start: int, end: int) -> None:
        self.horizon.silence(start, end)
        self.requests.answer(start, end, 0, self.now)
        list(self.horizon.ready())

    def pass_time(self, seconds: float) -> None:
        until = self.now + seconds
        while self.now < until - STEP / 2:
            self.now = round(self.now + STEP, 6)
            self.ask()

    def ask(self) -> list[Range]:
        ranges = self.requests.next(self.horizon, self.now) if self.horizon.lacks else []
        if ranges:
            self.asked.append((self.now, ranges))
        return ranges


def test_a_position_is_asked_for_once_it_has_been_missed_for_the_patience() -> None:
    leaf = Leaf()
    leaf.arrives(2)
    leaf.pass_time(0.01)
    leaf.arrives(4)
    leaf.pass_time(0.01)
    assert leaf.asked == [(0.02, [(1, 2)])]
    leaf.arrives(1, again=True)
    leaf.pass_time(0.01)
    assert leaf.asked[1:] == [(0.03, [(3, 4)])]


def test_a_request_without_an_answer_is_repeated_later_and_later_and_to_another_broker() -> None:
    leaf = Leaf()
    leaf.arrives(1_001)
    leaf.pass_time(4.5)
    assert [moment for moment, _ in leaf.asked] == [0.02, 0.12, 0.32, 0.72, 1.52, 3.12]
    assert [ranges for _, ranges in leaf.asked] == [[(1, 501)], *[[(1, 17)]] * 5]
    assert leaf.requests.turn == 5


def test_answers_that_take_longer_than_the_first_guess_are_measured() -> None:
    leaf = Leaf()
    leaf.arrives(1_001)
    leaf.pass_time(3.02)
    leaf.arrives(*range(1, 501), again=True)
    leaf.ask()
    requests = len(leaf.asked)
    for start in (501, 1_001, 1_501, 2_001):
        leaf.arrives(start + 1_000)
        leaf.pass_time(3.0)
        leaf.arrives(*range(start, min(start + 500, leaf.horizon.end)), again=True)
        leaf.ask()
    ranges = [ranges for _, ranges in leaf.asked[requests:]]
    assert all(first != second for first, second in pairwise(ranges)), "none is repeated"


def test_the_request_to_a_broker_that_cannot_be_reached_any_more_is_made_again_at_once() -> None:
    leaf = Leaf()
    leaf.arrives(2)
    leaf.pass_time(0.05)
    leaf.requests.void()
    assert leaf.requests.answered
    assert leaf.ask() == [(1, 2)]


def test_an_answer_that_takes_long_is_waited_for_longer() -> None:
    leaf = Leaf()
    for position in (2, 4):
        leaf.arrives(position)
        leaf.pass_time(0.1)
        leaf.arrives(position - 1, again=True)
        leaf.pass_time(0.05)
    leaf.arrives(6)
    leaf.pass_time(0.4)
    first, second = (moment for moment, ranges in leaf.asked if ranges == [(5, 6)])
    assert second - first > 0.15


def test_positions_that_come_late_by_themselves_lengthen_the_patience_for_a_while() -> None:
    leaf = Leaf()
    leaf.arrives(2)
    leaf.pass_time(0.1)
    assert len(leaf.asked) == 1
    leaf.arrives(1)
    leaf.arrives(4)
    leaf.pass_time(0.12)
    assert len(leaf.asked) == 1
    leaf.pass_time(0.01)
    assert leaf.asked[1][1] == [(3, 4)]
    leaf.arrives(3, again=True)
    leaf.pass_time(3.0)
    leaf.arrives(6)
    leaf.pass_time(0.02)
    assert leaf.asked[2][1] == [(5, 6)]


def test_a_publication_that_arrives_behind_its_retransmission_was_late() -> None:
    leaf = Leaf()
    leaf.arrives(2)
    leaf.pass_time(0.03)
    leaf.arrives(1, again=True)
    leaf.pass_time(0.07)
    leaf.arrives(1)
    leaf.arrives(4)
    leaf.pass_time(0.1)
    assert [ranges for _, ranges in leaf.asked] == [[(1, 2)]]


def test_the_rest_is_asked_for_once_an_answer_is_there_and_not_before() -> None:
    leaf = Leaf()
    leaf.arrives(1_001)
    leaf.pass_time(0.1)
    assert [ranges for _, ranges in leaf.asked] == [[(1, 501)]]
    leaf.arrives(*range(1, 501), again=True)
    assert leaf.requests.answered
    assert leaf.ask() == [(501, 1_001)]


def test_silence_makes_requests_longer_and_publications_make_them_shorter() -> None:
    leaf = Leaf()
    leaf.arrives(10_000)
    leaf.pass_time(0.02)
    leaf.arrives(1, again=True)
    leaf.is_silent(2, 501)
    assert leaf.ask() == [(501, 1_501)]
    leaf.arrives(*range(501, 1_501), again=True)
    assert leaf.ask() == [(1_501, 2_001)]


def test_a_late_answer_may_be_one_of_too_many_publications() -> None:
    leaf = Leaf()
    leaf.arrives(1 << 61)
    leaf.pass_time(0.02)
    for _ in range(5):
        ((start, end),) = leaf.asked[-1][1]
        leaf.is_silent(start, end)
        leaf.ask()
    leaf.pass_time(0.3)
    ((start, end),) = leaf.asked[-1][1]
    assert end - start <= 500


def test_a_leaf_that_leaves_asks_for_nothing() -> None:
    leaf = Leaf()
    leaf.arrives(2)
    leaf.horizon.leave()
    leaf.requests.leave()
    leaf.pass_time(1.0)
    assert leaf.asked == []
    assert not leaf.requests.is_active


@given(st.lists(st.tuples(st.integers(1, 60), st.booleans(), st.floats(0.0, 0.3)), max_size=40))
def test_everything_is_asked_for_and_nothing_again_before_an_answer_can_be_there(
    arrivals: list[tuple[int, bool, float]],
) -> None:
    leaf = Leaf()
    for position, again, pause in arrivals:
        leaf.arrives(position, again=again)
        leaf.pass_time(pause)
    leaf.arrives(61)
    for _ in range(200):
        if not leaf.horizon.lacks:
            break
        leaf.pass_time(0.05)
        for start, end in leaf.asked[-1][1] if leaf.asked else []:
            leaf.arrives(*(place for place in range(start, end) if not leaf.horizon.knows(place)), again=True)
    assert leaf.horizon.next == 62
    for (before, former), (after, latter) in zip(leaf.asked, leaf.asked[1:], strict=False):
        repeated = {*_positions(former)} & {*_positions(latter)}
        assert not repeated or after - before > NACK_AGAIN - STEP


def _positions(ranges: list[Range]) -> list[int]:
    return [position for start, end in ranges for position in range(start, end)]
