"""Subscribers that come and go during the run phase."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence

import msgspec

from record.time_units import SECOND
from scenario.sections.workload.course import Churn, SubscriberChurn
from scenario.workload.operations import OperationKind, PlannedOperation
from scenario.workload.streams import stream


def comings_and_goings(churn: Churn, first: float, run: float) -> Iterator[tuple[float, bool, int]]:
    """Seconds of a run phase of `run` seconds, True for a subscription and False for its end, and its number.

    The subscription that ends at `first` has the number 1.
    """
    leaves, number = first, 1
    while leaves < run:
        yield leaves, False, number
        number += 1
        if leaves + churn.away >= run:
            return
        yield leaves + churn.away, True, number
        leaves = first + (number - 1) * churn.every


def churning(
    subscriptions: Sequence[PlannedOperation], churn: SubscriberChurn, seed: int, *, begin: int, run: float
) -> Iterator[PlannedOperation]:
    """The operations of all subscribers that the seed has come and go, sorted by time.

    `subscriptions` are those of the join phase that nothing else withdraws, each client's one after another. The run
    phase begins at `begin`, in nanoseconds. Subscriptions that are made anew have `~2`, `~3`, ... behind their ids.
    """
    streams = []
    for subscription in subscriptions:
        rng = stream(seed, f"churn:{subscription.client}")
        if rng.random() < churn.share:
            first = rng.random() * churn.every
            streams.append(_changes(subscription, churn, first, begin=begin, run=run))
    return heapq.merge(*streams, key=lambda operation: operation.at)


def _changes(
    made: PlannedOperation, churn: Churn, first: float, *, begin: int, run: float
) -> Iterator[PlannedOperation]:
    for time, again, number in comings_and_goings(churn, first, run):
        name = made.id if number == 1 else f"{made.id}~{number}"
        changed = msgspec.structs.replace(made, at=begin + round(time * SECOND), id=name)
        if not again:
            changed = msgspec.structs.replace(
                changed, operation=OperationKind.UNSUBSCRIBE, predicates=None, pattern=None, within=None
            )
        yield changed
