"""The queue of work in front of a broker, by a clock that the tests turn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_service.service import LongWaits, ServiceQueue, single_messages, whole_frames

FRAMES = st.lists(st.tuples(st.integers(0, 30), st.lists(st.integers(0, 20), max_size=5)), max_size=30)
"""Time since the frame before, and what each message takes."""


@given(FRAMES)
def test_messages_are_served_one_after_another(frames: list[tuple[int, list[int]]]) -> None:
    """Against adding up by hand: each begins when it has come and the one before it is done."""
    queue = ServiceQueue(single_messages(lambda message: message[1]))
    expected: list[tuple[int, int]] = []
    handled: list[tuple[int, int]] = []
    now = free_at = number = longest = waited = 0
    clock = [0]

    def handle(messages: Sequence[Any]) -> None:
        handled.extend((message[0], clock[0]) for message in messages)

    times: list[int] = []
    for pause, costs in frames:
        now += pause
        for done in sorted(time for time in times if time <= now):
            clock[0] = done
            queue.finish(done)
        times = [time for time in times if time > now]
        messages = []
        for cost in costs:
            longest = max(longest, free_at - now)
            waited += max(0, free_at - now)
            free_at = max(now, free_at) + cost
            expected.append((number, free_at))
            messages.append((number, cost))
            number += 1
        times += queue.submit(now, handle, messages)
    for done in times:
        clock[0] = done
        assert queue.finish(done)
    assert handled == expected
    assert (queue.waiting, queue.next_done, queue.longest_wait, queue.longest_wait) == (0, None, longest, 0)
    assert queue.totals(free_at) == (number, waited, sum(cost for _, costs in frames for cost in costs))


@given(FRAMES, st.integers(1, 60))
def test_long_waits_are_reported_when_messages_come_in(frames: list[tuple[int, list[int]]], least: int) -> None:
    """Against adding up by hand; nothing is finished, because that does not change when a turn comes."""
    reported: list[tuple[Any, int, int]] = []
    waits = LongWaits(least, lambda piece, turn, wait: reported.append((piece[0], turn, wait)))
    queue = ServiceQueue(single_messages(lambda message: message[1]), long_waits=waits)
    expected: list[tuple[Any, int, int]] = []
    now = free_at = 0
    for number, (pause, costs) in enumerate(frames):
        now += pause
        messages = [(number, cost) for cost in costs]
        for message in messages:
            turn = max(now, free_at)
            if turn - now >= least:
                expected.append((message, turn, turn - now))
            free_at = turn + message[1]
        queue.submit(now, lambda _: None, messages)
    assert reported == expected


def test_a_frame_is_one_piece_where_frames_are_served_whole() -> None:
    queue = ServiceQueue(whole_frames(0, lambda _: 10))
    handled: list[Sequence[Any]] = []
    assert list(queue.submit(5, handled.append, "ab")) == [25]
    assert (queue.waiting, queue.finish(24), queue.finish(25)) == (2, False, True)
    assert handled == ["ab"]


def test_all_messages_of_a_frame_wait_for_the_one_before() -> None:
    queue = ServiceQueue(whole_frames(0, lambda _: 10))
    queue.submit(0, print, "ab")
    queue.submit(5, print, "cde")
    assert queue.totals(12) == (5, 3 * 15, 12)


def is_immediate(queue: ServiceQueue) -> bool:
    """True when shells handle messages that come in now at once, without the queue."""
    return queue.work is None and not queue.pieces


def test_a_change_of_times_holds_for_what_comes_and_nothing_overtakes() -> None:
    queue = ServiceQueue(None)
    handled: list[Sequence[Any]] = []
    assert is_immediate(queue)
    queue.work = single_messages(lambda _: 2)
    assert not is_immediate(queue)
    assert list(queue.submit(0, handled.append, ["slow", "slow too"])) == [2, 4]
    queue.work = None
    assert not is_immediate(queue), "something waits still"
    assert list(queue.submit(0, handled.append, ["after those"])) == [4]
    while (done := queue.next_done) is not None:
        queue.finish(done)
    assert handled == [("slow",), ("slow too",), ["after those"]]
    assert is_immediate(queue)


def test_a_pause_postpones_what_waits() -> None:
    queue = ServiceQueue(single_messages(lambda _: 10))
    queue.submit(0, print, "ab")
    assert list(queue.postpone(100)) == [110, 120]
    assert list(queue.submit(105, print, "c")) == [130]


def test_it_is_full_at_so_many_bytes_and_empty_again_when_all_is_served() -> None:
    queue = ServiceQueue(single_messages(lambda _: 1), most_bytes=3000)
    queue.submit(0, lambda _: None, "abc", size=1000)
    assert not queue.full
    queue.submit(0, lambda _: None, "d", size=1000)
    assert queue.full
    queue.finish(1)
    queue.finish(2)
    assert not queue.full
    queue.finish(3)
    queue.finish(4)
    queue.submit(5, lambda _: None, "e", size=3000 - 257)
    assert not queue.full


def test_a_handler_that_fails_keeps_nobody_waiting() -> None:
    queue = ServiceQueue(single_messages(lambda _: 1))
    handled: list[Sequence[Any]] = []

    def fail(_messages: Sequence[Any]) -> None:
        raise LookupError("bad")

    queue.submit(0, fail, "a")
    queue.submit(0, handled.append, "b")
    with pytest.raises(LookupError):
        queue.finish(1)
    assert (queue.waiting, queue.finish(2), handled) == (1, True, [("b",)])


def test_what_waited_when_it_was_cleared_is_never_handled() -> None:
    queue = ServiceQueue(single_messages(lambda _: 1))
    queue.submit(0, print, "a")
    queue.clear()
    assert (queue.waiting, queue.finish(1)) == (0, False)


@given(FRAMES, st.lists(st.tuples(st.integers(0, 29), st.integers(1, 40)), max_size=3))
def test_busy_time_is_that_of_the_pieces_as_far_as_they_were_served(
    frames: list[tuple[int, list[int]]], pauses: list[tuple[int, int]]
) -> None:
    """Against the intervals in which each piece is served. A pause, after the frame with its number, serves nothing."""
    queue = ServiceQueue(single_messages(lambda cost: cost))
    served: list[tuple[int, int]] = []
    paused = dict(pauses)
    now = free_at = 0
    for number, (since, costs) in enumerate(frames):
        now += since
        while (done := queue.next_done) is not None and done <= now:
            queue.finish(done)
        for cost in costs:
            begin = max(now, free_at)
            free_at = begin + cost
            served.append((begin, free_at))
        queue.submit(now, lambda _: None, costs)
        assert queue.busy(now) == sum(min(end, now) - begin for begin, end in served if begin < now)
        if pause := paused.get(number):
            before = queue.busy(now)
            cut = [(begin, end) for begin, end in served if end > now]
            served = [(begin, end) for begin, end in served if end <= now]
            served += [part for begin, end in cut for part in _interrupted(begin, end, now, pause)]
            now += pause
            queue.postpone(pause)
            free_at = max([end for _, end in served], default=0)
            assert queue.busy(now) == before


def _interrupted(begin: int, end: int, at: int, pause: int) -> list[tuple[int, int]]:
    """The parts of an interval that a pause moves or divides."""
    if begin >= at:
        return [(begin + pause, end + pause)]
    return [(begin, at), (at + pause, end + pause)]
