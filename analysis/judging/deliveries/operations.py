"""Defects of sessions and of clients' operations, which no delivery shows.

1. **session broken**: a session broke, and no fault of its broker explains it; or it did not come back in time after
   such a fault.
2. **not confirmed**: a broker answered an operation neither with a confirmation nor with a rejection, within the time
   in which it would have settled together with all that clients did in the join phase, though no fault of the broker
   and no outage of the session concerned it.
3. **rejected**: a broker rejected an advertisement, a subscription or a composite subscription that the language
   allows, and gave no limit as its reason.

Without these verdicts, brokers would be owed nothing by refusing everything.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from analysis.judging.histories.history import History
from analysis.judging.rights.declared import is_sound
from analysis.reading.intervals import FOREVER, NONE, Intervals
from analysis.reading.lifetimes import DeclarationLifetime, RejectedOperation
from record.manifest import VariantRecord
from record.time_units import SECOND

SESSION_BROKEN = "session broken"
NOT_CONFIRMED = "not confirmed"
REJECTED = "rejected"
OPERATION_DEFECTS = (SESSION_BROKEN, NOT_CONFIRMED, REJECTED)

_LIMIT = ("limit", "room", "already")
"""Words of which a reason has one that names a limit of the broker."""


class OperationDefect(NamedTuple):
    """One defect of a session or of an operation."""

    kind: str
    """One of `OPERATION_DEFECTS`."""
    client: str
    """Empty for a session."""
    broker: str
    time: int
    detail: str
    late: bool = False
    """True of an answer that came in the end, so that only time is against the broker."""


def operation_defects(
    variant: VariantRecord, history: History, rejected: Iterable[RejectedOperation]
) -> list[OperationDefect]:
    """The defects in one variant, in order of time."""
    found = [*_broken(history), *_unconfirmed(variant, history), *_rejected(rejected)]
    return sorted(found, key=lambda defect: (defect.time, defect.client, defect.detail))


def _broken(history: History) -> Iterator[OperationDefect]:
    for node, broker, time in history.broken_sessions:
        detail = f"the session of {node} with {broker} broke at {time / SECOND:.3f} s without a fault of {broker}"
        yield OperationDefect(SESSION_BROKEN, "", broker, time, detail)
    for node, broker, broke, due in history.missing_sessions:
        detail = (
            f"the session of {node} with {broker} broke at {broke / SECOND:.3f} s, and was not back at "
            f"{due / SECOND:.3f} s, though {broker} worked again"
        )
        yield OperationDefect(SESSION_BROKEN, "", broker, due, detail, late=True)


def _unconfirmed(variant: VariantRecord, history: History) -> Iterator[OperationDefect]:
    ends = (variant.end, history.cut_short)
    end = min((time for time in ends if time is not None), default=FOREVER)
    for lifetime in history.lifetimes:
        for issued, answered, verb in _operations(lifetime):
            until = issued + history.settling.of_many(history.joining)
            unanswered = answered is None or answered > until
            if unanswered and until <= end and not _is_explained(lifetime, history, issued, until):
                after = "" if answered is None else f" for {(answered - issued) / SECOND:.3f} s"
                detail = (
                    f"{lifetime.broker} answered neither yes nor no{after} when {lifetime.client} {verb} "
                    f"{lifetime.made.value} {lifetime.name} at {issued / SECOND:.3f} s"
                )
                late = answered is not None
                yield OperationDefect(NOT_CONFIRMED, lifetime.client, lifetime.broker or "", issued, detail, late)


def _operations(lifetime: DeclarationLifetime) -> Sequence[tuple[int, int | None, str]]:
    """The operations that made and ended a lifetime: the time of each, that of its answer, and a verb."""
    made = (lifetime.issued, lifetime.confirmed, "made")
    if lifetime.withdrawn is None:
        return (made,)
    return made, (lifetime.withdrawn, lifetime.gone, "ended")


def _is_explained(lifetime: DeclarationLifetime, history: History, issued: int, until: int) -> bool:
    """True when a fault of the broker, or an outage of the session, may have cost an answer."""
    session = history.session_outages_of(lifetime.node, lifetime.broker)
    down = NONE if lifetime.broker is None else history.struck.get(lifetime.broker, NONE)
    broken = Intervals.of((found.time, FOREVER) for found in history.broken_sessions if found.broker == lifetime.broker)
    return any(outages.overlaps(issued, until) for outages in (session, down, broken))


def _rejected(rejected: Iterable[RejectedOperation]) -> Iterator[OperationDefect]:
    for operation in rejected:
        if is_sound(operation.declared) and not any(word in operation.reason for word in _LIMIT):
            detail = (
                f"{operation.broker} rejected {operation.kind} {operation.name} of {operation.client}, which the "
                f"language allows: {operation.reason or 'no reason given'}"
            )
            yield OperationDefect(REJECTED, operation.client, operation.broker or "", operation.at, detail)
