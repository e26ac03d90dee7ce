"""The subscriptions that match a publication, as they stand towards it.

Most of the time no subscription changes its status. So publications that match the same interests, and were in flight
between the same two changes, are judged once.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence

from analysis.judging.doubt import Doubt
from analysis.judging.rights.duties import Found, Judgement
from analysis.judging.rights.standing import Standing, Status
from analysis.tables.deliveries import Cause, Right

_CAUSES = {
    Status.WITHDRAWN: Cause.WITHDRAWN,
    Status.NOT_YET: Cause.NOT_YET_SUBSCRIBED,
    Status.NONE: Cause.NO_MATCH,
}


class Subscribed:
    """The subscriptions that match a publication, whenever they were made, each with its status."""

    def __init__(self, found: Found) -> None:
        self.found = found
        self._statuses: dict[str, Status] = {}
        """The greatest status of the subscriptions of each client."""
        for made, status in found:
            if status > self._statuses.get(made.client, Status.NONE):
                self._statuses[made.client] = status
        self._brokers = {made.client: made.broker for made, status in found if status >= Status.DOUBTFUL}
        self._judged: dict[tuple[Status, Doubt | None], list[Judgement]] = {}
        """Judgements by the publisher's entitlement, and by the doubt whether the publication left its publisher's
        broker."""

    def judgements(self, entitled: Status, doubt: Doubt | None, notified: Mapping[str, object]) -> Sequence[Judgement]:
        """The judgement on each client that has a right to the publication or was notified."""
        judged = self._judged.get((entitled, doubt))
        if judged is None:
            judged = self._judged[entitled, doubt] = [
                _judgement(client, status, entitled, doubt, self._brokers.get(client))
                for client, status in self._statuses.items()
            ]
        if self._statuses.keys() == notified.keys():
            return judged
        strangers = (client for client in notified if client not in self._statuses)
        return [
            *(judgement for judgement in judged if judgement.right is not Right.NONE or judgement.client in notified),
            *(_judgement(client, Status.NONE, entitled, doubt) for client in strangers),
        ]


class Moments:
    """The moments at which any subscription may change its status."""

    def __init__(self, moments: Iterable[int]) -> None:
        self._moments = sorted(set(moments))

    def between(self, since: int, until: int) -> int | None:
        """The number of the time between two moments in which [since, until] lies; None where it holds a moment."""
        number = bisect_right(self._moments, since - 1)
        return number if number == bisect_right(self._moments, until) else None


def moments_of(standings: Iterable[Standing]) -> Moments:
    """The moments of these subscriptions, if no broker is ever cut off from another."""
    return Moments(
        moment
        for made in standings
        for moment in (
            made.settled,
            made.withdrawn,
            made.earliest,
            made.since,
            made.until,
            made.gone,
            *made.outages.starts,
            *made.outages.ends,
        )
    )


def _judgement(
    client: str, subscribed: Status, entitled: Status, doubt: Doubt | None, broker: str | None = None
) -> Judgement:
    right = judged_right(subscribed, entitled, doubt)
    if right is Right.NONE:
        return Judgement(client, right, spurious_cause(subscribed))
    doubted = doubt_of(subscribed, entitled, doubt) if right is Right.MAY else None
    return Judgement(client, right, None, broker=broker, doubt=doubted)


def judged_right(subscribed: Status, entitled: Status, doubt: Doubt | None) -> Right:
    """The right of a client, by the status of its subscription and by the publisher's entitlement. `doubt` is that of
    the publication."""
    if subscribed is Status.SETTLED and entitled is Status.SETTLED and doubt is None:
        return Right.MUST
    if subscribed >= Status.IN_FLIGHT and entitled >= Status.IN_FLIGHT:
        return Right.MAY
    return Right.NONE


def doubt_of(subscribed: Status, entitled: Status, doubt: Doubt | None) -> Doubt | None:
    """The fault that may have cost a client what it is owed; None where it is owed nothing, because an operation was in
    flight."""
    if min(subscribed, entitled) < Status.DOUBTFUL:
        return None
    if doubt is not None:
        return doubt
    return Doubt.SUBSCRIBER if subscribed is Status.DOUBTFUL else Doubt.SESSION


def spurious_cause(subscribed: Status) -> Cause:
    """The reason why a notification is spurious, given the greatest status of a matching subscription of its client."""
    if subscribed >= Status.IN_FLIGHT:
        return Cause.UNADVERTISED
    return _CAUSES[subscribed]
