"""Backlogs of control messages behind a broker, which are shorter when those whose messages add to them wait.

A broker passes control messages (all but publications) on to many others, and messages of a link keep their order. A
neighbour or a client that sends nothing but subscriptions, advertisements or news of restarts would fill the queues of
the links behind this broker, where publications of others would wait for seconds. So its next frame waits for the
backlog, but for a moment only: two brokers that wait for each other both go on, and a slow link stops nobody.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from broker_service.links.overlay_link import OverlayLink
from broker_service.messages import BrokerId, Kind

MOST_WAITING: Final = 64
"""Control messages that may wait for a link, besides a window of 128 in flight, so that the link is never idle."""

MOST_BYTES: Final = 1 << 16
"""Bytes of them, those in flight included, because the neighbour behind has work for each byte."""

LOOK_AFTER: Final = 0.005
"""Seconds between two looks at a backlog."""

LOOKS: Final = 10
"""Looks after which nobody waits any longer."""

_PUBLISH: Final = Kind.PUBLISH


def has_backlog(links: Iterable[OverlayLink], source: BrokerId | None) -> bool:
    """True when more control messages than `MOST_WAITING`, or `MOST_BYTES` of them, wait for a link that is up and does
    not lead to their source, which is None for a client."""
    for link in links:
        if link.up and link.neighbour != source:
            if link.others_waiting > MOST_WAITING or link.others_bytes > MOST_BYTES:
                return True
            if link.others_bytes + link.retransmission.in_flight_bytes > MOST_BYTES and _is_long(link):
                return True
    return False


def _is_long(link: OverlayLink) -> bool:
    """True when too many bytes of control messages wait or are in flight."""
    in_flight = sum(message.size for message in link.retransmission.in_flight if message.kind is not _PUBLISH)
    return link.others_bytes + in_flight > MOST_BYTES
