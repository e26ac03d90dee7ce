"""The defect **held up by a slow reader**: a broker delays notifications of other clients while a slow reader's session
is full, though a slow reader costs others nothing.

It is one where the notifications of a broker's other clients took longer while the session was full, by time that
neither links, work, the broker's own queues nor the host explain. The mean of that time must exceed that of all other
notifications of the variant by a quarter of what the slowest reader there takes for one notification, because a frame
of several waits once, and be `_TIMES` as long. Nobody is blamed where it is not known what the host did, or where that
made the figures what they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from analysis.budget.tally import BesideSlowReaders
from analysis.judging.deliveries.operations import OperationDefect
from analysis.tables.summary import HELD_UP
from record.time_units import MILLISECOND, SECOND
from topology.sites import Site

_LEAST = 20
"""Notifications from which their mean says something."""
_SHARE = 0.25
"""Share of the time that the slow reader takes for a notification, by which others have to be later."""
_SHORTEST = 5 * MILLISECOND
"""Time below which a delay is no evidence."""
_TIMES = 4


def held_up(sums: Iterable[BesideSlowReaders], sites: Sequence[Site]) -> Iterator[OperationDefect]:
    """The defects of one variant."""
    by_broker = {found.broker: found for found in sums}
    rest = by_broker.pop("", None)
    usual = 0.0 if rest is None else max(0.0, rest.unexplained / rest.notifications)
    for broker, found in sorted(by_broker.items()):
        slow = [site for site in sites if site.broker == broker and site.reads_slowly and site.reads]
        longer = found.unexplained / found.notifications - usual
        takes = max((SECOND / site.reads for site in slow if site.reads), default=0.0)
        if found.notifications < _LEAST or longer < max(_SHARE * takes, _SHORTEST, (_TIMES - 1) * usual):
            continue
        names = ", ".join(site.name for site in slow)
        yield OperationDefect(
            HELD_UP,
            "",
            broker,
            0,
            f"{found.notifications:,} notifications of other clients of {broker} took {longer / MILLISECOND:,.1f} ms "
            f"longer than all others, which nothing explains, while a slow reader's session there was full ({names})",
        )
