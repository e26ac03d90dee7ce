"""Crashes of intermediate brokers (Gryphon, section 5.2, figure 7).

Clients are in groups, in the order of their numbers: the recipe's arguments are the sizes of the groups, of which the
last one joins late.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from analysis.claims.measured_run import MeasuredRun, MeasuredVariant
from analysis.claims.model import ClaimsError, Recipe
from analysis.claims.papers.gryphon.broker_load import mean_load
from analysis.claims.papers.gryphon.start_latency import notified_times, start_latency
from analysis.claims.verdict import Measurement
from analysis.tables.deliveries import Expectation, Right
from analysis.tables.results import read_table
from analysis.tables.timeline import Fault
from record.faults import FaultKind
from record.files import RESULTS
from record.log import Event
from record.time_units import SECOND

_LEAST_RATE = 0.95
"""Smallest share of what was published for a group in a second that the group must get in it."""
_LATEST_START = 1.0
"""Seconds within which a late subscription must have started."""
_EQUAL = 0.1
"""Largest relative difference of two loads that count as equal."""
_SETTLED = 3
"""Seconds after a crash or a restart from which the load of brokers is compared."""


class Crash(NamedTuple):
    """A killed broker, with seconds of the run phase."""

    broker: str
    begin: int
    end: int


def rates(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """Violations: seconds in which a group got less than 95% of what was published for it, and every publication that
    a client had to get and did not. Checked: seconds of all groups."""
    (variant,) = run.variants
    due: Counter[tuple[int, int]] = Counter()
    owed, lost = set(), 0
    for row in read_table(run.directory / RESULTS, Expectation):
        if row.right == Right.MUST and row.published_ns is not None:
            due[group_of(row.client, recipe.arguments), second_of(variant, row.published_ns)] += 1
            owed.add((row.publication, row.client))
            lost += not row.notifications
    got: Counter[tuple[int, int]] = Counter()
    for notification in variant.notifications:
        if (notification.publication, notification.client) in owed:
            got[group_of(notification.client, recipe.arguments), second_of(variant, notification.notified_ns)] += 1
    slow = [key for key, number in due.items() if got[key] < _LEAST_RATE * number]
    example = f"group {slow[0][0]} got {got[slow[0]]} of {due[slow[0]]} in second {slow[0][1]}" if slow else ""
    return Measurement(values=(len(slow) + lost,), checked=len(due), example=example)


def late_starts(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """Violations: clients of the last group whose first notification came later than 1 s after their subscription."""
    (variant,) = run.variants
    notified = notified_times(variant)
    latencies = {
        record.client or "": start_latency(record, notified)
        for record in run.client_records(b'"event":"subscribe"')
        if record.event is Event.SUBSCRIBE and group_of(record.client or "", recipe.arguments) == len(recipe.arguments)
    }
    late = [client for client, time in latencies.items() if time is None or time > _LATEST_START * SECOND]
    example = f"{late[0]}: {latencies[late[0]]} ns" if late else ""
    return Measurement(values=(len(late),), checked=len(latencies), example=example)


def load(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """Margins of: before the first crash the surviving intermediate broker is idle; after it, its load is that of the
    second one; after the second crash it doubles; when both are back, the load is shared equally."""
    (variant,) = run.variants
    first, second = _crashes(run)
    crashed = (first.broker, second.broker)
    (survivor,) = (
        broker.id for broker in variant.overlay.brokers if broker.id.startswith("ib") and broker.id not in crashed
    )

    def during(broker: str, begin: float, end: float) -> float:
        return mean_load(variant, (broker,), begin, end)

    before = during(survivor, 0, first.begin) / during(second.broker, 0, first.begin)
    between = during(survivor, first.begin + _SETTLED, second.begin)
    beside = during(second.broker, first.begin + _SETTLED, second.begin)
    joined = _joining(run, variant, recipe)
    alone = during(survivor, second.begin + _SETTLED, joined)
    shared = [
        during(broker, max(first.end, second.end) + _SETTLED, variant.run_seconds) for broker in (*crashed, survivor)
    ]
    return Measurement(
        values=(
            _EQUAL - before,
            _EQUAL - abs(between / beside - 1),
            _EQUAL - abs(alone / between / 2 - 1),
            _EQUAL - (max(shared) / min(shared) - 1),
        )
    )


def _crashes(run: MeasuredRun) -> tuple[Crash, Crash]:
    """The two brokers that were killed, in order of time."""
    found = [
        Crash(row.what[0], row.second, round(row.second + row.duration_s))
        for row in read_table(run.directory / RESULTS, Fault)
        if row.kind == FaultKind.KILL and row.second is not None and row.duration_s is not None
    ]
    if len(found) != 2:
        raise ClaimsError(f"{run.directory}: {len(found)} crashes that end; two are needed")
    first, second = sorted(found, key=lambda crash: crash.begin)
    return first, second


def _joining(run: MeasuredRun, variant: MeasuredVariant, recipe: Recipe) -> int:
    """Second in which the first client of the last group subscribes."""
    return min(
        second_of(variant, record.time)
        for record in run.client_records(b'"event":"subscribe"')
        if record.event is Event.SUBSCRIBE and group_of(record.client or "", recipe.arguments) == len(recipe.arguments)
    )


def group_of(client: str, sizes: Sequence[float]) -> int:
    """The number of a client's group, from 1, by the sizes of the groups; 0 for a client of none."""
    if not client.startswith("S"):
        return 0
    number = int(client[1:])
    return next((place for place, last in enumerate(accumulate(sizes), start=1) if number <= last), 0)


def second_of(variant: MeasuredVariant, time: int) -> int:
    """The second of the run phase in which a time of the records lies."""
    return (time - variant.run_began_ns) // SECOND
