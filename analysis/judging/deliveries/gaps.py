"""Gaps in what the subscriptions of a client got from one publisher, though the protocol promises that there are none.

A publication that a client may get, and did not, is lost after all if one of its subscriptions that match it
(`analysis.judging.rights.duties`) had started, and either

1. **gap**: a later publication of the publisher, made at the same broker, reached the client, before that subscription
   was withdrawn; no outage and no recovery excuses that, only
2. **session**: the client's session was down between the start and the later publication, which made it start anew; or
3. **tail**: none came later, and nothing but the start was in doubt.

A subscription had started if an earlier publication of the same publisher and broker reached the client in the same
session and proves it, or if its start was announced in that session before the publication was made. What a publisher
that moves publishes at another broker comes in a stream of its own, and shows nothing of the former one. Neither does
what a client that moves gets from another broker.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from analysis.judging.evidence.lost_ranges import LostRanges
from analysis.judging.judged import Duty, JudgedPublication, PublicationOutcome
from analysis.judging.variant_context import SessionBreaks
from analysis.reading.intervals import FOREVER
from analysis.tables.deliveries import Cause, Right

_Published = tuple[int, int]
"""The time of a publishing and its position in the log."""


@dataclass(frozen=True, slots=True)
class Starts:
    """The first publication of one publisher that proves each subscription started, in each session of its client."""

    breaks: SessionBreaks
    proven: dict[tuple[str, str | None, str | None, int, int], _Published] = field(default_factory=dict)
    """The first publication that proves a start, by client, the publisher's broker, the client's, session and
    subscription."""

    @classmethod
    def of(cls, of_publisher: Iterable[JudgedPublication], breaks: SessionBreaks) -> Starts:
        """The starts that a publisher's publications prove, the latest publication first."""
        starts = cls(breaks)
        for judged in of_publisher:
            for outcome in judged.outcomes:
                if outcome.proves is not None and outcome.receipts:
                    receipt = outcome.receipts[0]
                    stream = outcome.client, judged.origin, receipt.broker
                    session = starts.session(outcome.client, receipt.notified)
                    starts.proven[*stream, session, outcome.proves] = _published(judged)
        return starts

    def session(self, client: str, time: int) -> int:
        """The number of the client's session at a time."""
        return bisect_right(self.breaks.get(client, ()), time)

    def started(self, client: str, duty: Duty, session: int, judged: JudgedPublication) -> bool:
        """True when the subscription had started in this session before the publication."""
        published = _published(judged)
        if duty.announced <= published[0] and self.session(client, duty.announced) == session:
            return True
        stream = client, judged.origin, duty.broker
        return self.proven.get((*stream, session, duty.subscription), (FOREVER, 0)) < published


def with_gaps(
    of_publisher: Iterable[JudgedPublication], starts: Starts, lost_ranges: LostRanges
) -> Iterator[JudgedPublication]:
    """The publications of a publisher, the latest first, with the right `must` where a gap proves it, and with an
    excuse where a lost range was told in its place."""
    later_arrived: dict[tuple[str, str | None], dict[str | None, int]] = {}
    missing = lost_ranges.of_publisher()
    for judged in of_publisher:
        for outcome in judged.outcomes:
            arrived = later_arrived.setdefault((outcome.client, judged.origin), {})
            if outcome.receipts:
                first = outcome.receipts[0]
                if outcome.handovers is not None:  # else it may have overtaken others over another session
                    arrived[first.broker] = min(arrived.get(first.broker, FOREVER), first.notified)
                continue
            if outcome.duties:
                _judge(judged, outcome, arrived, starts)
            missing.excuse(judged, outcome, min(arrived.values(), default=FOREVER))
        yield judged


def _judge(
    judged: JudgedPublication, outcome: PublicationOutcome, arrived: Mapping[str | None, int], starts: Starts
) -> None:
    """`arrived` are the times at which a later publication first reached the client, by the client's broker."""
    client = outcome.client
    last_session = starts.session(client, judged.published or 0)
    for duty in outcome.duties:
        later_arrived = arrived.get(duty.broker, FOREVER)
        session = starts.session(client, later_arrived)
        if later_arrived < duty.withdrawn and starts.started(client, duty, session, judged):
            outcome.right, outcome.cause = Right.MUST, Cause.GAP
            return
        if duty.due and starts.started(client, duty, last_session, judged):
            outcome.right, outcome.cause = Right.MUST, Cause.STARTED
            return


def _published(judged: JudgedPublication) -> _Published:
    return judged.published or 0, judged.position
