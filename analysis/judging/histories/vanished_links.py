"""The cost that the delivery oracle accepts for links that vanish from an overlay that changes.

1. Best effort is excused nothing, because the delivery ratio is to show what changes of the overlay cost.
2. Routing that promises every delivery states the cost as that of `VANISHED_LINKS`. Each link that vanishes is a fault
   that is healed at once, and from which the overlay recovers.
3. Brokers are *parted* while no path of links that are there joins them, whatever faults there are. If links that
   vanish take publications with them, those between parted brokers may be lost; else they wait for a path.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from analysis.judging.histories.fault_costs import LOSSY
from analysis.reading.intervals import FOREVER
from analysis.reading.log_events import OutageEvent
from analysis.reading.outages import Outage
from analysis.reading.overlay_changes import OverlayChanges
from record.faults import VANISHED_LINKS
from record.promises import Completeness, Promises
from topology.model import Overlay


@dataclass(frozen=True, slots=True)
class VanishedLinks:
    """The links of one variant that were not there all the time."""

    overlay: Overlay | None = None
    """The overlay with all links that it has at some time; None where it stays as it is, or nothing is excused."""
    events: Sequence[OutageEvent] = ()
    """The start and the end of the fault that each link is when it vanishes."""
    waited: Sequence[Outage] = ()
    """The times in which links were not there, if publications wait meanwhile."""
    lost: Sequence[Outage] = ()
    """These times if publications may be lost."""


def vanished_links(changes: OverlayChanges | None, promises: Promises) -> VanishedLinks:
    """The links that vanished, and what the promises let that cost."""
    if changes is None or promises.delivery is Completeness.BEST_EFFORT:
        return VanishedLinks()
    absent = [
        Outage(begin, VANISHED_LINKS, f"{a}-{b}", FOREVER if end is None else end)
        for a, b, begin, end in changes.links_out()
    ]
    events = [
        OutageEvent(change.at._replace(time=change.at.time + after), change.variant, "", change.link, kind, begins)
        for change in changes.vanished()
        for after, kind, begins in ((0, VANISHED_LINKS, True), (1, VANISHED_LINKS, False))
    ]
    lossy = promises.loss(VANISHED_LINKS) in LOSSY
    return VanishedLinks(changes.linked_ever, events, () if lossy else absent, absent if lossy else ())
