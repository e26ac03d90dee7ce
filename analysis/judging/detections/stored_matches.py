"""Matches of composite subscriptions that brokers store, and the crashes that may have cost them.

A publication that matches a part is stored where its composite subscription is detected, for a window and longer. A
crash between two publications of a set costs the set if it hit

1. the client's own broker, which detects the composite subscription unless that is routed as a unit;
2. a broker on the path of a unit, from the client's to the join point, after that began to detect the unit and before
   it left it or crashed itself: the client's broker then routes the unit anew, without its matches (`joined` and
   `left` in the join point's log). While a unit moves, this holds for each of its join points;
3. any broker, less than the time that an operation takes to settle before or after the first join point since the unit
   was routed began to detect it: the client's broker learns the path only then.

No other crash costs a stored match. That a publication may be lost in flight is judged for itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from analysis.judging.histories.history import History
from analysis.reading.intervals import FOREVER, NONE, Intervals
from analysis.reading.lifetimes import DeclarationLifetime
from analysis.reading.placements import JoinPoint


def match_losses(lifetime: DeclarationLifetime, history: History, joined: Iterable[JoinPoint]) -> Intervals:
    """The time in which matches that brokers stored for a composite subscription may be lost, given the join points
    under its name."""
    end = FOREVER if lifetime.withdrawn is None else lifetime.withdrawn
    of_lifetime = [point for point in joined if lifetime.issued <= point.joined <= end]
    return Intervals.union(
        history.lossy_elsewhere,
        NONE if lifetime.broker is None else history.crashes.get(lifetime.broker, NONE),
        *(Intervals.of(_on_the_path(point, history)) for point in of_lifetime),
        *(Intervals.of(_before_the_path_is_known(point, history)) for point in of_lifetime if point.former is None),
    )


def _on_the_path(point: JoinPoint, history: History) -> Iterator[tuple[int, int]]:
    """Crashes of brokers on the path while the join point detected the unit. Times are of different logs, and a message
    takes its time to the next broker, so that a crash just before or after it counts as well."""
    within = history.settling.within
    since = point.joined - within
    own_crashes = _begun(history.crashes.get(point.broker, NONE), since, point.left)
    end = min([point.left, *(begin for begin, _ in own_crashes)]) + within
    for broker in {*point.placement.path, point.broker}:
        yield from _begun(history.crashes.get(broker, NONE), since, end)


def _before_the_path_is_known(point: JoinPoint, history: History) -> Iterator[tuple[int, int]]:
    within = history.settling.within
    known = history.silent.settled(point.joined, point.joined + within)
    for crashes in history.crashes.values():
        yield from _begun(crashes, point.joined - within, known)


def _begun(crashes: Intervals, since: int, until: int) -> Iterator[tuple[int, int]]:
    """The crashes that began in this time."""
    pairs = zip(crashes.starts, crashes.ends, strict=True)
    return ((begin, end) for begin, end in pairs if since <= begin <= until)
