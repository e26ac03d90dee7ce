"""Weighing: each notification that is owed came, is excused by evidence, cannot be judged, or is lost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from analysis.judging.doubt import Doubt
from analysis.judging.evidence.excuses import Evidence
from analysis.judging.evidence.recovery import Recoveries
from analysis.judging.evidence.ways import Passing
from analysis.judging.judged import JudgedPublication, PublicationOutcome
from analysis.tables.deliveries import Cause, Right
from record.promises import Completeness

UNDRAINED = "the drain phase ended while they were on their way"
CUT_OFF = "the run was interrupted while every way to its subscriber's broker was down"
UNREAD_COST = "its client did not read, and its broker's policy let it cost that"
UNTOLD = "the run ended before their client had read that they were dropped"
UNREAD_AT_END = "the run ended before their client had read them"
UNPROCESSED = "it came to its client's site, and the client left without having acknowledged it"
_IN_FLIGHT = frozenset({Right.MAY, Right.NONE})
_CERTAIN = frozenset({Cause.GAP, Cause.STARTED})


def weighed(
    of_publisher: Iterable[JudgedPublication], evidence: Evidence, recoveries: Recoveries
) -> Iterator[JudgedPublication]:
    """The publications of a publisher, each owed notification with the right `must` and with its excuse, if any.

    Of best effort, a notification that an outage may have cost keeps the right `may`, because the delivery ratio is
    over those that nothing but the protocol cost.
    """
    for judged in of_publisher:
        for outcome in judged.outcomes:
            if (outcome.client, judged.publication) in evidence.unprocessed and _is_due_once(outcome):
                _set_aside(outcome)
            elif outcome.right not in _IN_FLIGHT or outcome.doubt is not None:
                _weigh(judged, outcome, evidence, recoveries)
            if outcome.is_lost:
                outcome.last_seen = evidence.last_seen(judged, outcome)
        yield judged


def _is_due_once(outcome: PublicationOutcome) -> bool:
    """True where nothing is wrong with a notification but that nobody knows whether its client processed it."""
    return outcome.right is not Right.NONE and len(outcome.receipts) == 1


def _set_aside(outcome: PublicationOutcome) -> None:
    """Counts a notification neither as delivered nor as lost."""
    outcome.receipts, outcome.not_judged = [], UNPROCESSED
    if outcome.right is Right.DUE:
        outcome.right = Right.MAY


def _weigh(judged: JudgedPublication, outcome: PublicationOutcome, evidence: Evidence, recoveries: Recoveries) -> None:
    if evidence.promises.delivery is not Completeness.EVERY:
        _weigh_best_effort(judged, outcome, evidence)
        return
    outcome.struck |= outcome.doubt is not None or evidence.may_have_struck(judged, outcome)
    outcome.right = Right.MUST
    if outcome.receipts or outcome.excuse or outcome.cause in _CERTAIN:
        return
    if outcome.doubt is Doubt.CUT_SHORT:
        outcome.not_judged = outcome.doubt.in_words(judged.origin, outcome.broker)
    elif outcome.doubt is not None and not evidence.outlived(judged, outcome, recoveries):
        outcome.excuse = outcome.doubt.in_words(judged.origin, outcome.broker)
        outcome.evidence = f"published at {judged.origin}, for {outcome.broker}"
    elif _is_unread(judged, outcome, evidence):
        pass
    elif (excuse := evidence.excuse(judged, outcome, recoveries)) is not None:
        outcome.excuse, outcome.evidence = excuse
    elif outcome.struck and not judged.logged:
        outcome.not_judged = evidence.unlogged
    elif evidence.cut_off_at_end(judged, outcome):
        outcome.not_judged = CUT_OFF
    elif evidence.under_way(judged, outcome):
        outcome.not_judged = UNDRAINED


def _is_unread(judged: JudgedPublication, outcome: PublicationOutcome, evidence: Evidence) -> bool:
    """Notes that the policy on what a slow reader does not read has cost a notification, or may yet bring it."""
    unread, pair = evidence.unread, (outcome.client, judged.publication)
    if outcome.client not in unread.clients:
        return False
    if (found := unread.costs.get(pair)) is not None:
        outcome.struck, outcome.excuse, outcome.evidence = True, UNREAD_COST, found
    elif pair in unread.untold:
        outcome.not_judged = UNTOLD
    elif pair in unread.waiting:
        outcome.not_judged = UNREAD_AT_END
    elif not judged.logged:
        outcome.not_judged = evidence.unlogged
    return outcome.excuse is not None or outcome.not_judged is not None


def _weigh_best_effort(judged: JudgedPublication, outcome: PublicationOutcome, evidence: Evidence) -> None:
    """Any way is as good as another, so what an outage on any of them may have cost is left out of the ratio. What is
    promised to a broker that received the publication, or to one next to it, has one link to go at most."""
    struck = (
        evidence.may_have_struck_last(judged, outcome)
        if outcome.right is Right.MUST
        else evidence.may_have_struck(judged, outcome, Passing.IMAGINABLE)
    )
    is_unread = not outcome.receipts and _is_unread(judged, outcome, evidence)
    if outcome.doubt is not None or struck or is_unread:
        outcome.right, outcome.struck = Right.MAY, True
