"""Requests of a leaf for positions of one stream that it lacks (negative acknowledgements, section 3.6).

1. Publications that take several paths overtake each other, and a missing position is late more often than lost. It is
   asked for once it has been missed for the `Patience`, which follows the lateness of those that came by themselves.
2. One request is under way at a time. When nothing of its answer has come for the `AnswerTime`, it is repeated, to
   another broker. Before the time of any answer was measured it may only be too early for that, so then the repetition
   is for the first `_LEAST_POSITIONS` positions, and the whole answer is waited for still. The rest of an answer that
   has begun is asked for again when nothing more of it comes. The next request follows once the whole answer is there.
3. A request is for so many positions that its answer brings about `MOST_ANSWERED` publications, so that these do not
   take the place of new ones: twice as many after an answer that was mostly silence, half as many after one that was
   more, or late. Silence is answered beyond what was asked for (`retransmission`), because the positions of a
   publishers' broker that was restarted begin far behind its former ones.
4. A request is void when the broker that was asked cannot be reached any more.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Final

from broker_service.routing.gryphon.streams.gap_times import AnswerTime, Patience
from broker_service.routing.gryphon.streams.horizon import Horizon
from broker_service.routing.gryphon.streams.messages import MOST_ANSWERED, MOST_POSITION, MOST_RANGES
from broker_service.routing.gryphon.streams.ranges import Range, RangeSet

_LEAST_POSITIONS: Final = 16
"""Positions that one request is for, at least."""
_REMEMBERED: Final = 2.0
"""Time for which the moment is kept at which positions were first missed, as a multiple of the longest patience."""
_MARKS: Final = 4
"""Moments in one patience at which the end of the known positions is noted."""
_ROUNDING: Final = 1e-6
"""Seconds by which a timer may seem to run out early."""


class GapRequests:
    """A leaf's requests for the positions that it lacks of one stream."""

    def __init__(self, gap_after: float, nack_again: float) -> None:
        """`gap_after` and `nack_again` are the options of these names, in seconds."""
        self.turn = 0
        """Number of the broker to ask, which grows when one does not answer."""
        self.answered = False
        """True once the whole answer to a request is there, until the next request."""
        self._patience = Patience(gap_after)
        self._answer_time = AnswerTime(nack_again)
        self._times: list[float] = []
        """Moments, ascending."""
        self._ends: list[int] = []
        """Position for each of the moments: positions before it that were unknown then have been missed since that
        moment or longer."""
        self._asked = RangeSet()
        """Positions of the request under way that are still unknown."""
        self._asked_lately = RangeSet()
        """Positions that may still come by themselves after they were asked for."""
        self._asked_at = 0.0
        self._heard_at: float | None = None
        """Moment at which something of the answer came last; None before it begins."""
        self._is_repetition = False
        """True when an answer may belong to a former request."""
        self._positions = MOST_ANSWERED
        """Positions of one request, at most."""
        self._brought = 0
        """Publications that the request under way has brought."""

    @property
    def is_active(self) -> bool:
        """False while nothing has been missed lately, so that arrivals need not be reported."""
        return bool(self._ends) or bool(self._asked)

    def leave(self) -> None:
        """The leaf does not follow the stream any more."""
        self._times.clear()
        self._ends.clear()
        self._asked, self._asked_lately = RangeSet(), RangeSet()
        self.answered = False

    def void(self) -> None:
        """The request under way is not answered any more (rule 4)."""
        if self._asked:
            self._asked = RangeSet()
            self.answered = True

    def missed(self, end: int, now: float) -> None:
        """Positions before `end` are unknown; `end` is behind the last known one."""
        times, ends = self._times, self._ends
        if times and (end == ends[-1] or now - times[-1] < self._patience.seconds / _MARKS):
            return
        self._patience.renew(now)
        times.append(now)
        ends.append(end)
        old = max(0, bisect_right(times, now - _REMEMBERED * self._patience.longest) - 1)
        del times[:old], ends[:old]
        self._asked_lately.forget_below(ends[0])

    def came_by_itself(self, position: int, was_known: bool, now: float) -> None:
        """A publication has arrived that nobody asked for, or before the answer; `was_known` if it is a repetition."""
        since = bisect_right(self._ends, position)
        if since < len(self._ends) and (not was_known or position in self._asked_lately):
            self._patience.late(now - self._times[since], now)

    def known(self, start: int, end: int) -> None:
        """Positions are known now."""
        found = self._asked.within(start, end)
        for part in found:
            self._asked.remove(*part)
        if found and not self._asked:
            self.answered = True
            self._resize()

    def answer(self, start: int, end: int, publications: int, now: float) -> None:
        """Positions are known now by an answer that has so many publications."""
        if not self._asked.within(start, end):
            return
        self._brought += publications
        self.known(start, end)
        if self._heard_at is None and not self._is_repetition:
            self._answer_time.measured(now - self._asked_at)
            self._patience.answered_within(self._answer_time.expected)
        self._heard_at = now

    def next(self, horizon: Horizon, now: float) -> list[Range]:
        """The positions to ask for now, which are under way then; none while an answer is expected."""
        if self._asked:
            if now < self._overdue - _ROUNDING:
                return []
            self.turn += 1
        is_in_vain = bool(self._asked) and self._heard_at is None
        if is_in_vain:
            self._answer_time.repeated()
        self._is_repetition = is_in_vain
        self._asked_at = now
        if is_in_vain and not self._answer_time.is_measured:
            return _first(list(self._asked), MOST_POSITION, _LEAST_POSITIONS)
        if self._asked:
            self._shrink()
        self._patience.renew(now)
        place = bisect_right(self._times, now - self._patience.seconds + _ROUNDING)
        ripe = self._ends[place - 1] if place else 0
        ranges = _first(horizon.unknown(MOST_RANGES), ripe, self._positions)
        self._asked = RangeSet(ranges)
        for part in ranges:
            self._asked_lately.add(*part)
        self._heard_at = None
        self._brought, self.answered = 0, False
        return ranges

    def wait(self, now: float) -> float:
        """Seconds until `next` may find something."""
        if self._asked:
            return max(0.0, self._overdue - now)
        place = bisect_right(self._times, now - self._patience.seconds + _ROUNDING)
        since = self._times[place] if place < len(self._times) else now
        return since + self._patience.seconds - now

    @property
    def _overdue(self) -> float:
        latest = self._asked_at if self._heard_at is None else self._heard_at
        return latest + self._answer_time.seconds

    def _resize(self) -> None:
        if 2 * self._brought <= MOST_ANSWERED:
            self._positions = min(2 * self._positions, MOST_POSITION)
        elif self._brought > MOST_ANSWERED:
            self._shrink()

    def _shrink(self) -> None:
        self._positions = max(_LEAST_POSITIONS, min(self._positions // 2, MOST_ANSWERED))


def _first(ranges: list[Range], end: int, positions: int) -> list[Range]:
    """The first positions of ranges, before an end."""
    found: list[Range] = []
    for start, behind in ranges:
        taken = min(behind, end, start + positions) - start
        if taken <= 0:
            break
        found.append((start, start + taken))
        positions -= taken
    return found
