"""Links that have come or gone without their broker's notice yet (option `noticed_after`).

The paper leaves it to "network- or application-level beaconing" to find out (section 3), and gives no time. Rules:

1. A broker treats a link that works as down, and one that has ceased to work as up, until the time of the option has
   passed, or until rule 2 or 3 makes it notice.
2. A message over a link that is not noticed yet is a notice. So both ends begin at about the same time, and no
   subscription comes over a link that its receiver takes for down.
3. A link that works again before its loss was noticed is noticed as lost and as new at that moment, because what it
   carried meanwhile is gone. A link that is lost before it was noticed has never been there.
4. What is sent to a neighbour that has left is lost, as on the air, and counts as dropped. What is sent over a link
   that is down with its neighbour in place waits there, as always.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from enum import Enum
from typing import Final

from broker_service.messages import BrokerId, Message
from broker_service.routing.interface import Action, LinkStatus, Recall, Send, SetTimer, TimerKey

NEIGHBOUR_LEFT: Final = "the neighbour has left, which is not noticed yet"
"""Reason in the log for which messages to a neighbour end here."""


class _Change(Enum):
    """A change of a link that is to be noticed."""

    CAME = "came"
    WENT = "went"


class LateNotice(Container[BrokerId]):
    """The changes of links that one broker has yet to notice.

    It contains the neighbours whose messages count: those whose links are noticed, or will be by a message.
    """

    def __init__(
        self,
        after: float,
        noticed: Container[BrokerId],
        links: Mapping[BrokerId, LinkStatus],
        report_dropped: Callable[[Message, str], None],
    ) -> None:
        """`noticed` is a live view of the neighbours whose links the broker takes for up, `links` one of all present
        neighbours."""
        self._after = after
        self._noticed = noticed
        self._links = links
        self._report_dropped = report_dropped
        self._pending: dict[BrokerId, _Change] = {}
        self._now: BrokerId | None = None
        """The neighbour whose link is noticed by the next call."""

    def __contains__(self, neighbour: object) -> bool:
        return neighbour in self._noticed or self._pending.get(str(neighbour)) is _Change.CAME

    def came(self, neighbour: BrokerId) -> Sequence[Action] | None:
        """A link works: what is to be done until its notice; None when it is noticed now."""
        if self._is_now(neighbour) or self._pending.pop(neighbour, None) is _Change.WENT:
            return None
        self._pending[neighbour] = _Change.CAME
        return [SetTimer(neighbour, self._after, awaited=True)]

    def went(self, neighbour: BrokerId) -> Sequence[Action] | None:
        """A link has ceased to work: what is to be done until its notice; None when it is noticed now."""
        if self._is_now(neighbour):
            return None
        if self._pending.pop(neighbour, None) is _Change.CAME:
            return ()
        self._pending[neighbour] = _Change.WENT
        return [SetTimer(neighbour, self._after, awaited=True)]

    def heard(self, neighbour: BrokerId) -> bool:
        """A message came over a link: true when its broker notices the link by that, with the next call of `came`."""
        if self._pending.get(neighbour) is not _Change.CAME:
            return False
        del self._pending[neighbour]
        self._now = neighbour
        return True

    def ran_out(self, key: TimerKey) -> tuple[BrokerId, bool] | None:
        """The neighbour whose link is noticed by the next call, true when it came; None when nothing is left to
        notice."""
        neighbour = str(key)
        change = self._pending.pop(neighbour, None)
        if change is None:
            return None
        self._now = neighbour
        return neighbour, change is _Change.CAME

    def reaching(self, actions: Iterable[Action]) -> list[Action]:
        """These actions without those about neighbours that have left: a message to one is dropped (rule 4)."""
        kept: list[Action] = []
        for action in actions:
            if not isinstance(action, Send | Recall) or action.neighbour in self._links:
                kept.append(action)
            elif isinstance(action, Send):
                self._report_dropped(action.message, NEIGHBOUR_LEFT)
        return kept

    def _is_now(self, neighbour: BrokerId) -> bool:
        if self._now != neighbour:
            return False
        self._now = None
        return True
