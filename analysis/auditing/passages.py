"""Messages by passage, as each end counted them: from broker to broker, and between a broker and its clients."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container
from dataclasses import dataclass, field
from functools import partial

from analysis.reading.message_counts import NONE_PASSED, MessageCounts, Passed
from record.log import Event

_DETECTION, _PUBLISH = "detection", "publish"
_REJECTIONS = frozenset({Event.REJECTED, Event.REFUSED})
_OF_RECEIVER = frozenset({Event.RECEIVED, Event.DISTURBED})


@dataclass(slots=True)
class Direction:
    """Messages from one broker to another."""

    sent: Passed = NONE_PASSED
    received: int = 0
    ended: int = 0
    """Dropped or taken back by the sender."""
    lost: int = 0
    repeated: int = 0
    held: int = 0
    """Messages that a disturbance held."""

    def note_sender(self, event: Event, passed: Passed) -> None:
        if event is Event.SENT:
            self.sent += passed
        elif event in {Event.DROPPED, Event.RECALLED}:
            self.ended += passed.all

    def note_receiver(self, event: Event, fate: str | None, messages: int) -> None:
        if event is Event.RECEIVED:
            self.received += messages
        elif event is Event.DISTURBED and fate == "lost":
            self.lost += messages
        elif event is Event.DISTURBED and fate == "repeated":
            self.repeated += messages
        elif event is Event.DISTURBED:
            self.held += messages


@dataclass(slots=True)
class AtBroker:
    """Messages between the clients of one broker and the broker."""

    published: Passed = NONE_PASSED
    received: int = 0
    delivered: Passed = NONE_PASSED
    notified: int = 0
    detections_delivered: Passed = NONE_PASSED
    detections_notified: int = 0
    dropped: int = 0
    rejected_by_driver: int = 0
    rejected_by_broker: int = 0

    def note_broker(self, event: Event, kind: str | None, passed: Passed) -> None:
        if event is Event.DELIVERED and kind == _DETECTION:
            self.detections_delivered += passed
        elif event is Event.DELIVERED:
            self.delivered += passed
        elif event is Event.DROPPED:
            self.dropped += passed.all
        elif event is Event.RECEIVED and kind == _PUBLISH:
            self.received += passed.all
        elif event in _REJECTIONS and kind == _PUBLISH:
            self.rejected_by_broker += passed.all

    def note_driver(self, event: Event, kind: str | None, passed: Passed) -> None:
        if event is Event.NOTIFIED and kind == _DETECTION:
            self.detections_notified += passed.all
        elif event is Event.NOTIFIED:
            self.notified += passed.all
        elif event is Event.PUBLISH:
            self.published += passed
        elif event in _REJECTIONS and kind == _PUBLISH:
            self.rejected_by_driver += passed.all


@dataclass(slots=True)
class Passages:
    """All messages of one variant, by passage."""

    directions: dict[tuple[str, str], Direction] = field(default_factory=partial(defaultdict, Direction))
    """Messages by sender and receiver."""
    at_brokers: dict[str, AtBroker] = field(default_factory=partial(defaultdict, AtBroker))


def passages_of(counts: MessageCounts, variant: int, brokers: Container[str]) -> Passages:
    """The messages of a variant, each end of a passage as it counted them."""
    found = Passages()
    for passage, passed in counts.of(variant):
        node, event, peer = passage.node, passage.event, passage.peer
        if node not in brokers:
            if peer is not None:
                found.at_brokers[peer].note_driver(event, passage.kind, passed)
        elif peer is None:
            found.at_brokers[node].note_broker(event, passage.kind, passed)
        elif event in _OF_RECEIVER:
            found.directions[peer, node].note_receiver(event, passage.fate, passed.all)
        else:
            found.directions[node, peer].note_sender(event, passed)
    return found
