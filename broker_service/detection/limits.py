"""Bounds of a detector, and the losses that they cause."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class DetectionLimits:
    """Bounds over all composite subscriptions of a detector."""

    partial_matches: int = 100_000
    """Matches of a publication and a leaf of a pattern that are kept. Memory follows these, and not the number of
    publications, because one publication may match leaves of thousands of patterns."""
    partial_match_bytes: int = 64 << 20
    """Bytes of the contents of publications that are kept; a content counts once, however many leaves it matches."""
    lateness: int = 30_000_000_000
    """Nanoseconds for which a match is kept beyond the window, because a partner may still be on its way."""
    detections_at_once: int = 10_000
    """Detections of one composite subscription that one arrival may complete."""
    candidates_at_once: int = 100_000
    """Matches that are tried for one arrival and one composite subscription, so that a pattern which combines a great
    many publications to no avail cannot keep a broker busy. As many as are kept, so that two parts are never cut."""


class LossReason(enum.Enum):
    """The bound that a loss is due to; a member's value is the text for logs."""

    MATCHES = "partial matches full"
    DETECTIONS = "too many detections at once"
    CANDIDATES = "too many combinations to try at once"


class Loss(NamedTuple):
    """Detections that a bound costs, or may cost."""

    reason: LossReason
    composite: str
    publication: str
    """The publication that is kept no longer, or whose arrival completes too many detections."""
    lost: int
    """Matches dropped (`MATCHES`), detections dropped (`DETECTIONS`), or detections found and dropped besides those
    that were not searched for any more (`CANDIDATES`)."""
