"""Tables of detections: the sets of publications that fulfil a client's composite subscription, as the client was
notified of them and as it should have been.

Runs without composite subscriptions do not have these tables.
"""

from __future__ import annotations

from enum import StrEnum

from msgspec import UNSET, Struct, UnsetType

from analysis.tables.power import counted
from record.wording import count_of


class DetectionDefect(StrEnum):
    """A defect of the notifications of one set of publications for one composite subscription."""

    LOST = "detection lost"
    """The client must get the set and did not."""
    DUPLICATED = "detection duplicated"
    """The client got the set more than once."""
    SPURIOUS = "detection spurious"
    """The client got the set and must not; `cause` gives the reason."""


class Detection(Struct, frozen=True, kw_only=True):
    """One row per notification of a client of a set of publications."""

    variant: str
    client: str
    composite: str
    """The client's name for its composite subscription."""
    publications: list[str]
    """In the order of the notification."""
    repeat: int
    """0 for the first notification of this set, 1 for the second, ..."""
    broker: str | None
    """The client's broker."""
    first_published_ns: int | None
    """The time at which the earliest publication of the set was made; null, as are the next four, where one of the
    set is not known to match."""
    last_published_ns: int | None
    notified_ns: int
    delay_ms: float | None
    """From the latest intended time of the set to the notification, milliseconds."""
    spread_ms: float | None
    """From the earliest publication of the set to the latest, milliseconds."""
    second: int | None
    """The second of the latest intended time."""


class ExpectedDetection(Struct, frozen=True, kw_only=True):
    """One row per composite subscription and set of publications of which its client must or may be notified, or was
    without a right to it."""

    variant: str
    client: str
    composite: str
    """The client's name for its composite subscription."""
    publications: list[str]
    """In the order of publishing; those of a spurious set as the notification lists them."""
    right: str
    """must, may or none: see `Right`."""
    notifications: int
    """The number of notifications that the client got."""
    defect: str | None
    """detection lost, detection duplicated or detection spurious: see `DetectionDefect`; null without a defect."""
    cause: str | None
    """The reason why it is spurious: see `Cause`."""
    drops: list[str]
    """The brokers that dropped detections with publications of a lost set, and their reasons. They do not
    excuse the loss."""
    excuse: str | None = None
    """Evidence by which it is excused that the set did not come, in a few words; null where it came, is lost or cannot
    be judged."""
    evidence: str | None = None
    """The record, the fault and the promise that make up the excuse."""
    not_judged: str | None = None
    """The reason why it cannot be judged that the set did not come."""
    last_seen: str | None = None
    """The last record of a lost set on the way to the client, or those of its publications where no broker recorded the
    detection."""
    last_published_ns: int | None


class DetectionDelays(Struct, frozen=True, kw_only=True):
    """One row per variant and class of detection delays that occurs: logarithmic classes, twenty for a factor of ten.

    The delay of a set counts from the latest intended time of its publications to its first notification.
    """

    variant: str
    lower_ms: float
    upper_ms: float
    notifications: int


class DetectionFigures(Struct, frozen=True, kw_only=True):
    """The oracle's findings on the detections of one variant.

    Always: delivered = expected - lost - excused - not judged + optional + duplicate + doubled + spurious.
    """

    composites: int
    """Composite subscriptions that clients made."""
    expected: int
    """Sets of publications of which clients had to be notified, whatever failed."""
    delivered: int
    """Notifications that clients got, defective ones included."""
    optional: int
    """Sets that clients were allowed to get and did."""
    forgone: int
    """Sets that clients were allowed to get and did not."""
    excused: dict[str, int]
    """Sets that clients had to get and did not, as far as evidence excuses that, by kind of evidence."""
    not_judged: dict[str, int]
    """Sets that clients had to get and did not, of which nobody can tell why, by reason."""
    lost: int
    """Sets that clients had to get and did not, without an excuse."""
    dropped: int
    """Lost sets with a publication of which a broker recorded dropped detections."""
    duplicate: int
    """Notifications beyond the first of a set that clients may or must get."""
    doubled: int | UnsetType = UNSET
    """Others of these, which the handovers of clients that moved may double (`moves` in the manifest). Only where there
    are any."""
    spurious: int
    """Notifications of sets that clients must not get."""
    spurious_causes: dict[str, int]
    """Spurious notifications by cause."""
    mean_ms: float | None
    """Mean delay of first notifications, from the latest intended time of the set; null without any. Percentiles are
    exact to a class of `detection_delays`."""
    p50_ms: float | None
    p95_ms: float | None
    p99_ms: float | None
    max_ms: float | None

    def in_words(self) -> str:
        optional = f" and {self.optional:,} optional" if self.optional else ""
        dropped = f" ({self.dropped:,} of them beside a recorded drop)" if self.dropped else ""
        besides = [
            counted(kinds, what)
            for kinds, what in ((self.not_judged, "not judged"), (self.excused, "excused"))
            if any(kinds.values())
        ]
        found = (
            f"{count_of(self.delivered, 'detection')} delivered, {self.expected:,} expected{optional}; "
            f"{self.lost:,} lost{dropped}, {self.duplicate:,} duplicate, {self.spurious:,} spurious"
        )
        found += f", {self.doubled:,} doubled by moves" if self.doubled else ""
        return "; ".join([found, *besides])
