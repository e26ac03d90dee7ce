"""The search for detections that one arrival completes.

Every combination of matches counts that fulfils the pattern, agrees on its variables, and has stamps at most the window
apart. A search starts at each leaf that the arrival fills, and follows the leaf's plan. Several combinations may be of
the same publications, which are one detection.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

from broker_service.detection.matches import Arrival, Match
from broker_service.detection.plans import Choice, Plan, Step, Visit
from broker_service.detection.slots import SlotTest, Values

_key = attrgetter("key")


class Search:
    """A search in one composite subscription."""

    __slots__ = ("_found", "_known", "_left", "_within", "cut")

    def __init__(self, within: int, candidates: int) -> None:
        """`within` is the window in nanoseconds, `candidates` bounds the matches that are tried."""
        self.cut = False
        """True once matches were left out because of the bound."""
        self._found: dict[tuple[Arrival, ...], None] = {}
        self._known = 0
        self._within = within
        self._left = candidates

    @property
    def detections(self) -> list[tuple[Arrival, ...]]:
        """Publications of each detection in the order of their keys; detections with the oldest partners first."""
        return list(self._found)[self._known :]

    def set_aside(self) -> None:
        """Leaves out the detections found so far, because they were complete before."""
        self._known = len(self._found)

    def start(self, match: Match, plan: Plan, values: Values) -> None:
        """Finds all detections that contain this match; `values` are those of its slots."""
        stamp = match.key[0]
        self._go_on(plan.first, (match.arrival,), stamp - self._within, stamp + self._within, values)

    def _go_on(
        self, step: Step | None, chosen: tuple[Arrival, ...], earliest: int, latest: int, values: Values
    ) -> None:
        """Adds detections with the chosen publications and others whose stamps are in this interval."""
        if step is None:
            self._found[in_order(chosen)] = None
        elif self._left <= 0:
            self.cut = True
        elif isinstance(step, Choice):
            for alternative in step.alternatives:
                self._go_on(alternative, chosen, earliest, latest, values)
        else:
            self._visit(step, chosen, earliest, latest, values)

    def _visit(self, step: Visit, chosen: tuple[Arrival, ...], earliest: int, latest: int, values: Values) -> None:
        following, within = step.following, self._within
        for match in self._within_bound(step.path.between(values, earliest, latest)):
            filled = fill(values, match, step.fills, step.tests) if step.fills else values
            if filled is None:
                continue
            if following is None:
                self._found[in_order((*chosen, match.arrival))] = None
            else:
                stamp = match.key[0]
                self._go_on(
                    following,
                    (*chosen, match.arrival),
                    max(earliest, stamp - within),
                    min(latest, stamp + within),
                    filled,
                )

    def _within_bound(self, candidates: Sequence[Match]) -> Sequence[Match]:
        """The first of the candidates, as many as the search may still try. An empty list costs as much as one
        candidate."""
        if len(candidates) > self._left:
            self.cut = True
            candidates = candidates[: max(0, self._left)]
        self._left -= len(candidates) or 1
        return candidates


def in_order(chosen: tuple[Arrival, ...]) -> tuple[Arrival, ...]:
    """Publications in the order of their keys, each once."""
    if len(chosen) == 2:
        first, second = chosen
        if first is second:
            return (first,)
        return chosen if first.key < second.key else (second, first)
    return tuple(sorted(set(chosen), key=_key))


def fill(
    values: Values, match: Match, fills: tuple[tuple[int, int], ...], tests: tuple[SlotTest, ...]
) -> Values | None:
    """The slots with a match's values besides; None where it disagrees with them or fails a test."""
    filled = list(values)
    for slot, place in fills:
        value = match.values[place]
        present = filled[slot]
        if present is None:
            filled[slot] = value
        elif present != value:
            return None
    for test in tests:
        tested, bound = filled[test.tested], filled[test.variable]
        if tested is not None and bound is not None and not test.holds(tested, bound):
            return None
    return tuple(filled)
