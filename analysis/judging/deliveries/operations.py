"""Defects of sessions and of clients' operations, which no delivery shows.

1. **session broken**: a session broke, and no fault of its broker explains it; or it did not come back in time after
   such a fault.
2. **not confirmed**: a broker answered an operation neither with a confirmation nor with a rejection, within the time
   in which it would have settled together with all that clients did in the join phase, though no fault of the broker
   and no outage of the session concerned it. A slow reader has first read what had come to its session by then. An
   answer that never comes is due after these, too, because the client asks again in its next session.
3. **rejected**: a broker rejected an advertisement, a subscription or a composite subscription that the language
   allows, and gave no limit as its reason; or it rejected the withdrawal of one that it had confirmed, that had not
   been withdrawn since, and that it had no reason to forget: it was not restarted, and the session did not break.
4. **not renewed**: a broker was restarted, the session of a client is back, and a subscription or an advertisement
   that stood before never came to the broker again, by the broker's own records, in the time in which it would have
   settled. The same is true of a client that has moved, at its new broker, which may fail meanwhile.
5. **misnumbered**: a broker numbers the notifications of a client program, and sent one under another number than the
   next: it left some out, or gave a number again, so that the client cannot tell what it has got.
6. **session stays**: a client has left its broker by a move, and the broker has not ended its session in the time in
   which it should: it still had a notification for the client then, by its own records.

Without these verdicts, brokers would be owed nothing by refusing everything.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from analysis.judging.histories.history import History, Renewal
from analysis.judging.rights.declared import is_sound
from analysis.reading.intervals import FOREVER, NONE, Intervals
from analysis.reading.lifetimes import DeclarationLifetime, RejectedOperation
from analysis.reading.log_events import NumberedNotification
from analysis.reading.log_tally import OwnDeclaration
from record.log import Event
from record.manifest import VariantRecord
from record.time_units import SECOND

SESSION_BROKEN = "session broken"
NOT_CONFIRMED = "not confirmed"
REJECTED = "rejected"
NOT_RENEWED = "not renewed"
MISNUMBERED = "misnumbered"
SESSION_STAYS = "session stays"
OPERATION_DEFECTS = (SESSION_BROKEN, NOT_CONFIRMED, REJECTED, NOT_RENEWED, MISNUMBERED, SESSION_STAYS)

_LIMIT = ("limit", "room", "already")
"""Words of which a reason has one that names a limit of the broker."""


Received = Mapping[OwnDeclaration, Sequence[int]]


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
    variant: VariantRecord,
    history: History,
    rejected: Sequence[RejectedOperation],
    received: Received,
    numbered: Iterable[NumberedNotification],
) -> list[OperationDefect]:
    """The defects in one variant, in order of time. `received` are the times at which operations came to brokers;
    `numbered` are the variant's."""
    found = [
        *_broken(history),
        *_staying(history),
        *_unconfirmed(variant, history),
        *_rejected(rejected),
        *_not_withdrawn(variant, history, rejected),
        *_misnumbered(numbered),
        *_not_renewed(_last_judged(variant, history), history, received),
    ]
    return sorted(found, key=lambda defect: (defect.time, defect.client, defect.detail))


def _broken(history: History) -> Iterator[OperationDefect]:
    for node, broker, time in history.broken_sessions:
        detail = f"the session of {node} with {broker} broke at {time / SECOND:.3f} s without a fault of {broker}"
        yield OperationDefect(SESSION_BROKEN, "", broker, time, detail)
    for node, broker, broke, due, left in history.missing_sessions:
        detail = (
            f"the session of {node} with {broker} broke at {broke / SECOND:.3f} s, and was not back at "
            f"{due / SECOND:.3f} s, though {broker} worked again"
            if not left
            else f"{node} left {left} for {broker} at {broke / SECOND:.3f} s, and had no session with {broker} at "
            f"{due / SECOND:.3f} s"
        )
        yield OperationDefect(SESSION_BROKEN, "", broker, due, detail, late=True)


def _staying(history: History) -> Iterator[OperationDefect]:
    for client, broker, left, served in history.staying_sessions:
        detail = (
            f"{client} left {broker} at {left / SECOND:.3f} s, and {broker} still had a notification for it at "
            f"{served / SECOND:.3f} s: it did not end the session"
        )
        yield OperationDefect(SESSION_STAYS, client, broker, served, detail, late=True)


def _unconfirmed(variant: VariantRecord, history: History) -> Iterator[OperationDefect]:
    end, settles = _last_judged(variant, history), history.settling.of_many(history.joining)
    for lifetime in history.lifetimes:
        for issued, answered, verb in _operations(lifetime):
            until = history.answered_by(lifetime.client, issued + settles)
            if answered is not None and answered <= until:
                continue
            disturbances = _disturbances(lifetime, history)
            if answered is None:  # the client asks again in its next session
                until = _disturbed(disturbances, issued, until, settles)
            elif _overlap(disturbances, issued, until):
                continue
            if until <= end:
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


def _disturbances(lifetime: DeclarationLifetime, history: History) -> Sequence[Intervals]:
    """Times in which a fault of the broker or of the client, or an outage of the session, may cost an answer."""
    session = history.session_outages_of(lifetime.node, lifetime.broker)
    down = NONE if lifetime.broker is None else history.struck.get(lifetime.broker, NONE)
    broken = Intervals.of((found.time, FOREVER) for found in history.broken_sessions if found.broker == lifetime.broker)
    of_client = history.client_struck.get((lifetime.node, lifetime.broker), NONE)
    return session, down, broken, of_client


def _overlap(disturbances: Iterable[Intervals], begin: int, end: int) -> bool:
    return any(times.overlaps(begin, end) for times in disturbances)


def _disturbed(disturbances: Sequence[Intervals], issued: int, until: int, settles: int) -> int:
    """The time by which an operation must be answered that should have been by `until`: each disturbance puts that off
    until it is over and an operation made then has settled."""
    since = issued
    while _overlap(disturbances, since, until):
        over = max(times.settled(since, until) for times in disturbances)
        since, until = until, over + settles
    return until


def _rejected(rejected: Iterable[RejectedOperation]) -> Iterator[OperationDefect]:
    for operation in rejected:
        is_limit = any(word in operation.reason for word in _LIMIT)
        if not operation.withdraws and is_sound(operation.declared) and not is_limit:
            detail = (
                f"{operation.broker} rejected {operation.event} {operation.name} of {operation.client}, which the "
                f"language allows: {operation.reason or 'no reason given'}"
            )
            yield OperationDefect(REJECTED, operation.client, operation.broker or "", operation.at, detail)


def _not_withdrawn(
    variant: VariantRecord, history: History, rejected: Iterable[RejectedOperation]
) -> Iterator[OperationDefect]:
    end = FOREVER if variant.end is None else variant.end
    for operation in rejected:
        stood, confirmed = operation.declared, operation.declared.confirmed
        if not operation.withdraws or confirmed is None or operation.at >= end:
            continue
        if confirmed <= operation.at and not history.may_have_forgotten(stood, confirmed, operation.at):
            detail = (
                f"{operation.broker} rejected {operation.event} {operation.name} of {operation.client}, though it had "
                f"confirmed {stood.made} {stood.name} at {confirmed / SECOND:.3f} s, which had not been withdrawn, and "
                f"neither {operation.broker} nor the session had failed since: "
                f"{operation.reason or 'no reason given'}"
            )
            yield OperationDefect(REJECTED, operation.client, operation.broker or "", operation.at, detail)


def _misnumbered(numbered: Iterable[NumberedNotification]) -> Iterator[OperationDefect]:
    for found in numbered:
        if found.event is Event.MISNUMBERED:
            detail = (
                f"{found.broker} sent {found.publication} to {found.client} as notification {found.number}, where "
                f"{found.text}"
            )
            yield OperationDefect(MISNUMBERED, found.client, found.broker, found.time, detail)


def _not_renewed(end: int, history: History, received: Received) -> Iterator[OperationDefect]:
    for renewal in history.renewals:
        if renewal.due > end:
            continue
        for made in history.lifetimes:
            moves = renewal.left or history.stays.of(made.client)
            is_elsewhere = not moves and made.broker != renewal.broker
            if made.node != renewal.node or is_elsewhere or not _stood(made, renewal):
                continue
            times = received.get(OwnDeclaration(made.variant, renewal.broker, made.client, made.name), ())
            before = received.get(OwnDeclaration(made.variant, made.broker or "", made.client, made.name), ())
            was_logged = any(time <= renewal.failed for time in before)
            if was_logged and not any(renewal.healed <= time <= renewal.due for time in times):
                came = (
                    f"did not come to {renewal.broker} again after its restart at {renewal.healed / SECOND:.3f} s, "
                    "though its session was back"
                    if not renewal.left
                    else f"did not come to {renewal.broker} after the move from {renewal.left}, though its session was "
                    f"open at {renewal.healed / SECOND:.3f} s"
                )
                detail = f"{made.made.value} {made.name} of {made.client} {came}, until {renewal.due / SECOND:.3f} s"
                yield OperationDefect(NOT_RENEWED, made.client, renewal.broker, renewal.due, detail, late=True)


def _stood(made: DeclarationLifetime, renewal: Renewal) -> bool:
    """True when an operation was confirmed before the broker failed, and was not withdrawn before it was due again."""
    confirmed = made.confirmed is not None and made.confirmed <= renewal.failed
    return confirmed and (made.withdrawn is None or made.withdrawn > renewal.due)


def _last_judged(variant: VariantRecord, history: History) -> int:
    """The time after which nothing is due any more."""
    ends = (variant.end, history.cut_short)
    return min((time for time in ends if time is not None), default=FOREVER)
