"""Backlogs of control messages behind a broker, which are shorter when the neighbours whose messages add to them wait.

A broker passes control messages (all but publications) on to many others, and messages of a link keep their order. A
neighbour that sends nothing but subscriptions, advertisements or news of restarts would fill the queues of the links
behind this broker, where publications of others would wait for seconds. So its next frame waits for the backlog, but
for a moment only: two brokers that wait for each other both go on, and a link that stays slow stops nobody.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from broker_service.links.overlay_link import OverlayLink
from broker_service.messages import BrokerId, Kind, Message

MOST_WAITING: Final = 256
"""Control messages that may wait for a link: two windows by default, so that the link is never idle meanwhile."""

LOOK_AFTER: Final = 0.005
"""Seconds between two looks at a backlog."""

LOOKS: Final = 10
"""Looks after which a neighbour waits no longer."""

_PUBLISH: Final = Kind.PUBLISH


def adds_to_backlogs(messages: Iterable[Message]) -> bool:
    """True when there is a control message among these."""
    return any(message.kind is not _PUBLISH for message in messages)


def has_backlog(links: Iterable[OverlayLink], source: BrokerId) -> bool:
    """True when more than `MOST_WAITING` control messages wait for a link that is up and leads elsewhere."""
    return any(link.others_waiting > MOST_WAITING and link.up and link.neighbour != source for link in links)
