"""Log events of detections, which are sets of publications that fulfil a composite subscription together.

They travel with the events of the publication that was made last, as far as the record says so, because stage 2 finds
its time there.
"""

from __future__ import annotations

import re

import msgspec

from record.log import TraceRecord

_LOSS = re.compile(r"(?P<reason>.*): composite (?P<composite>.*)", re.DOTALL)


class NotifiedDetection(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """A client was notified of a set of publications."""

    variant: int
    client: str
    composite: str
    """The client's name for its composite subscription."""
    publications: tuple[str, ...]
    """Publications of the set, in the order of the notification."""
    broker: str | None
    time: int

    @property
    def last(self) -> str:
        """The publication that was made last, if the notification lists them in the order of publishing."""
        return self.publications[-1] if self.publications else ""


class MadeDetection(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """A broker detected a set of publications."""

    variant: int
    client: str
    composite: str
    """The client's name for the composite subscription."""
    publications: tuple[str, ...]
    broker: str
    time: int
    sub_unit: str = ""
    """The unit that they fulfil, where that is a part of the composite subscription."""

    @property
    def last(self) -> str:
        """The publication that was made last."""
        return self.publications[-1] if self.publications else ""


class DetectionLoss(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """A broker lost detections, because a bound was reached or their unit goes another way."""

    variant: int
    client: str
    composite: str
    publication: str
    """The publication that was discarded, or that completed the detections or would have."""
    broker: str
    reason: str

    @property
    def last(self) -> str:
        """The publication with whose events the loss travels."""
        return self.publication


def notified_detection(variant: int, record: TraceRecord) -> NotifiedDetection | None:
    """The detection of which a client was notified; None where the record names no client or composite subscription."""
    if record.client is None or record.id is None:
        return None
    return NotifiedDetection(
        variant, record.client, record.id, tuple(record.publications or ()), record.peer, record.time
    )


def made_detection(variant: int, record: TraceRecord) -> MadeDetection | None:
    """The detection that a broker made; None where the record names no client or composite subscription."""
    if record.client is None or record.id is None:
        return None
    publications = tuple(record.publications or ())
    return MadeDetection(variant, record.client, record.id, publications, record.node, record.time, record.text or "")


def detection_loss(variant: int, record: TraceRecord) -> DetectionLoss | None:
    """The loss that a broker recorded; None where the record does not name the composite subscription."""
    named = _LOSS.fullmatch(record.text or "")
    if named is None or record.client is None or record.id is None:
        return None
    return DetectionLoss(variant, record.client, named["composite"], record.id, record.node, named["reason"])
