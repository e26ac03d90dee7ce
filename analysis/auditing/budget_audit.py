"""The audit of the budget of delays: its tables add up, and no part is more than the ways allow.

1. Classes of delay, seconds and nodes have the sums of all, and a class has delays of its own size, as many as were
   measured. So a part that is booked for another notification, as a wait for another link is, does not add up, though
   all together do. Two parts of the same notification that are exchanged show nowhere: no figure is by link.
2. The parts of all delays together are the delays, as the log of the ways has them and as the stage that measures
   delays does.
3. Links took what they may take as asked, so that nothing else is booked as theirs, and contention is no more than
   the kernel's waits of nodes on the ways. In a simulated run, nobody waits, and clients' messages take as charged.
4. The replay without contention is quicker than the run by what was contention, unless messages then wait elsewhere;
   and besides by half of the backlog that contention made at brokers (`backlogs`), where that is seen.
5. Costs at rest are those of the calibration on the host of each broker, by a reference loop (`cost_audit`).

Where the budget leaves ways out, because a passage over a link is not in the log, sums can only be compared from above.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec import UNSET

from analysis.auditing.cost_audit import costs_at_rest
from analysis.auditing.evidence import BudgetRows, Evidence
from analysis.auditing.finding import none_allowed, unmeasured
from analysis.auditing.hops.asked import SUBSCRIBERS
from analysis.tables.budget import Budget, BudgetAtNode, BudgetOverTime, DelayParts
from analysis.tables.summary import DelayBudget
from record.fidelity import Check
from record.time_units import MILLISECOND

NAME = "budget of delays, by its tables"
_LATE = 0.1
"""Milliseconds of the mean delay by which a simulated driver must not be late."""
_DRAWN = 0.5
"""Milliseconds by which one latency that is drawn may differ from the mean."""
_REPLAYED = 0.02
"""Share of the mean delay by which a replay may miss it."""
_AT_EDGES = 1e-4
"""Share of delays that may be so near to the edge of a class that a nanosecond puts them into the next one."""
_ROUNDING = 1e-6
"""Share of a sum, and milliseconds of each notification, by which sums of floating-point numbers may differ."""


def budget_audit(evidence: Evidence) -> Iterable[Check]:
    """The check of one variant."""
    rows = evidence.budget
    budget = UNSET if rows is None else rows.delay.budget
    if rows is None or budget is UNSET:
        yield unmeasured(NAME, "sums", "the log holds no ways of notifications")
        return
    yield none_allowed(
        NAME,
        "sums",
        [
            *_delays(rows, budget),
            *_replay(rows, budget),
            *_backlog(rows, budget),
            *_bounds(rows, budget),
            *_tables(rows, budget),
            *_classes(rows, budget),
            *_late(rows, budget, evidence),
            *costs_at_rest(evidence, rows, budget),
        ],
        meaning="so the parts of the delays are not those of this run",
        otherwise=f"the parts of {budget.notifications:,} delays add up to them, and none is more than it can be",
    )


def _delays(rows: BudgetRows, budget: DelayBudget) -> Iterator[str]:
    """Delays that the parts do not add up to."""
    parts, ways, measured = budget.notifications * budget.parts.delay_ms, rows.ways, rows.delay
    logged = ways.delay / MILLISECOND
    if budget.notifications > ways.notifications:
        yield f"{budget.notifications:,} delays are cut into parts, and {ways.notifications:,} ways are logged"
    if _differ(parts, logged, budget) and (parts > logged or budget.notifications == ways.notifications):
        yield f"parts add up to {_ms(parts, budget)}, the delays are {_ms(logged, budget)}"
    elif measured.notifications == budget.notifications:
        whole = measured.notifications * (measured.mean_ms or 0.0)
        if _differ(parts, whole, budget):
            yield f"parts add up to {_ms(parts, budget)}, delays were measured as {_ms(whole, budget)}"


def _bounds(rows: BudgetRows, budget: DelayBudget) -> Iterator[str]:
    """Parts that are more, or less, than they can be."""
    ways = rows.ways
    links, contention = (budget.notifications * _part(budget.parts, part) for part in ("links_ms", "contention_ms"))
    least, most, waited = (time / MILLISECOND for time in (ways.links_least, ways.links_most, ways.contention_most))
    if links > most and _differ(links, most, budget):
        yield f"links take {_ms(links, budget)}, as asked they take {_ms(most, budget)} at most"
    if budget.notifications == ways.notifications and links < least and _differ(links, least, budget):
        yield f"links take {_ms(links, budget)}, as asked they take {_ms(least, budget)} at least"
    if contention > waited and _differ(contention, waited, budget):
        yield f"contention is {_ms(contention, budget)}, nodes waited {_ms(waited, budget)} at most for a processor"


def _tables(rows: BudgetRows, budget: DelayBudget) -> Iterator[str]:
    """Tables that have other sums than all notifications together."""
    grouped: tuple[tuple[str, Sequence[Budget | BudgetOverTime]], ...] = (
        ("classes of delay", rows.by_delay),
        ("seconds", rows.over_time),
    )
    for name, table in grouped:
        for part in DelayParts.__struct_fields__ if table else ():
            yield from _unlike(name, part, sum(row.notifications * _part(row.parts, part) for row in table), budget)
    for part in ("contention_ms", "unexplained_ms"):
        yield from _unlike("nodes", part, budget.notifications * sum(_part(row, part) for row in rows.at_nodes), budget)
    for row in rows.by_delay:
        shortest = 0.0 if row is rows.by_delay[0] else row.lower_ms
        if not shortest - _ROUNDING <= row.parts.delay_ms <= row.upper_ms + _ROUNDING:
            yield f"delays of {row.lower_ms:.3g} to {row.upper_ms:.3g} ms have parts of {row.parts.delay_ms:.3g} ms"


def _classes(rows: BudgetRows, budget: DelayBudget) -> Iterator[str]:
    """Delays that are not the ones that were measured, one by one, though all together may be."""
    if rows.delay.notifications != budget.notifications:
        return
    measured = {row.lower_ms: row.notifications for row in rows.distribution}
    added = {row.lower_ms: row.notifications for row in rows.by_delay}
    misplaced = sum(max(count - measured.get(lower, 0), 0) for lower, count in added.items())
    if misplaced > 1 + _AT_EDGES * budget.notifications:
        yield f"the parts of {misplaced:,} delays add up to other ones than were measured, by classes of delay"


def _unlike(table: str, part: str, found: float, budget: DelayBudget) -> Iterator[str]:
    whole = budget.notifications * _part(budget.parts, part)
    if _differ(found, whole, budget):
        name = part.removesuffix("_ms").replace("_", " ")
        yield f"{table} have {_ms(found, budget)} of {name}, all together {_ms(whole, budget)}"


def _late(rows: BudgetRows, budget: DelayBudget, evidence: Evidence) -> Iterator[str]:
    """Drivers that publish late in virtual time, in which nothing can hold them up, and whose notifications come at
    other times than they can."""
    if not evidence.modelled:
        return
    brokers = {broker.id for broker in evidence.overlay.brokers}
    drawn = _LATE + _DRAWN / budget.notifications**0.5
    for row in rows.at_nodes:
        late = row.unexplained_ms
        if row.node == SUBSCRIBERS and abs(late) > drawn:
            yield f"notifications came {late:+.3f} ms beside what they take to clients, in virtual time"
        elif row.node not in brokers and row.node != SUBSCRIBERS and late > _LATE:
            yield f"{row.node} published late, by {late:.3f} ms of the mean delay, in virtual time"


def _replay(rows: BudgetRows, budget: DelayBudget) -> Iterator[str]:
    """A replay without contention that is not quicker than the run, though nothing else held messages up."""
    replayed, parts = rows.delay.without_contention, budget.parts
    if replayed is UNSET or not parts.contention_ms or replayed.notifications != budget.notifications:
        return
    quicker = parts.delay_ms - replayed.mean_ms
    elsewhere = parts.waiting_for_links_ms + parts.waiting_at_brokers_ms + _REPLAYED * parts.delay_ms
    if quicker < parts.contention_ms / 2 - elsewhere:
        yield (
            f"the replay without contention is {quicker:.3f} ms quicker than the run, contention is "
            f"{parts.contention_ms:.3f} ms"
        )


def _backlog(rows: BudgetRows, budget: DelayBudget) -> Iterator[str]:
    """A replay without contention in which the backlog that contention made remains."""
    replayed, parts = rows.delay.without_contention, budget.parts
    if replayed is UNSET or not replayed.notifications == budget.notifications == rows.ways.notifications:
        return
    backlog = rows.backlog / MILLISECOND / budget.notifications
    quicker = parts.delay_ms - replayed.mean_ms
    contention = parts.contention_ms or 0.0
    besides = quicker - contention - min(parts.unexplained_ms, 0.0)  # what parts have too much may be contention's
    if backlog / 2 > max(_REPLAYED * replayed.mean_ms, besides):
        yield (
            f"the replay without contention is {quicker:.3f} ms quicker than the run, contention is "
            f"{contention:.3f} ms, and made a backlog of {backlog:.3f} ms besides"
        )


def _part(parts: DelayParts | BudgetAtNode, name: str) -> float:
    return float(getattr(parts, name) or 0.0)


def _differ(one: float, other: float, budget: DelayBudget) -> bool:
    return abs(one - other) > _ROUNDING * (max(abs(one), abs(other)) + budget.notifications)


def _ms(total: float, budget: DelayBudget) -> str:
    return f"{total / budget.notifications:.3f} ms"
