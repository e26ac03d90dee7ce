"""Links that have come or gone without their broker's notice yet (option `noticed_after`).

The paper leaves it to "network- or application-level beaconing" to find out (section 3), and gives no time. Rules:

1. A broker treats a link that works as down, and one that has ceased to work as up, until the time of the option has
   passed, or until rule 2 or 3 makes it notice.
2. A message over a link that is not noticed yet is a notice. So both ends begin at about the same time, and no
   subscription comes over a link that its receiver takes for down.
3. A link that works again before its loss was noticed is noticed as lost then, because what it carried meanwhile is
   gone. A link that is lost before it was noticed has never been there.
4. What is sent to a neighbour that has left is lost, as on the air, and counts as dropped. What is sent over a link
   that is down with its neighbour in place waits there, as always.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from typing import Final

from broker_service.messages import BrokerId, Message
from broker_service.routing.interface import Action, CancelTimer, LinkStatus, Send, SetTimer, TimerKey

NEIGHBOUR_LEFT: Final = "the neighbour has left, which is not noticed yet"
"""Reason in the log for which messages to a neighbour end here."""


class Notice(Enum):
    """A change of a link, as its broker notices it."""

    CAME = "came"
    WENT = "went"


class LateNotice:
    """The changes of links that one broker has yet to notice."""

    def __init__(
        self, after: float, links: Mapping[BrokerId, LinkStatus], report_dropped: Callable[[Message, str], None]
    ) -> None:
        """`links` is a live view of the links to all present neighbours."""
        self._after = after
        self._links = links
        self._report_dropped = report_dropped
        self._pending: dict[BrokerId, Notice] = {}

    def came(self, neighbour: BrokerId) -> Action:
        """A link works: the timer of its notice."""
        self._pending[neighbour] = Notice.CAME
        return SetTimer(neighbour, self._after, awaited=True)

    def went(self, neighbour: BrokerId) -> Action:
        """A link has ceased to work: the timer of its notice, or its end for one that was never noticed."""
        if self.awaits(neighbour):
            del self._pending[neighbour]
            return CancelTimer(neighbour)
        self._pending[neighbour] = Notice.WENT
        return SetTimer(neighbour, self._after, awaited=True)

    def awaits(self, neighbour: BrokerId) -> bool:
        """True for a link that works and is not noticed yet."""
        return self._pending.get(neighbour) is Notice.CAME

    def heard(self, neighbour: BrokerId) -> bool:
        """A message came over a link: true when its broker notices the link by that; the timer is to be cancelled."""
        if not self.awaits(neighbour):
            return False
        del self._pending[neighbour]
        return True

    def ran_out(self, key: TimerKey) -> tuple[BrokerId, Notice]:
        """The notice whose timer has run out."""
        neighbour = str(key)
        return neighbour, self._pending.pop(neighbour)

    def reaching(self, actions: Iterable[Action]) -> list[Action]:
        """These actions without the messages to neighbours that have left (rule 4)."""
        kept: list[Action] = []
        for action in actions:
            if isinstance(action, Send) and action.neighbour not in self._links:
                self._report_dropped(action.message, NEIGHBOUR_LEFT)
            else:
                kept.append(action)
        return kept
