"""`summary.live.json`: what is known of a run that still goes on. docs/logs.md describes it field by field."""

from __future__ import annotations

from pathlib import Path

import msgspec

from analysis.tables.definitions import Defect
from analysis.tables.summary import KindMessages

LIVE_SUMMARY = "summary.live.json"
FORMAT = 1


class LiveDelay(msgspec.Struct, frozen=True, kw_only=True):
    """Delay of first notifications, milliseconds, from the intended time; quantiles to within an eighth."""

    notifications: int
    mean_ms: float
    p50_ms: float
    p95_ms: float
    p99_ms: float
    max_ms: float


class LiveFault(msgspec.Struct, frozen=True, kw_only=True):
    """One fault so far."""

    kind: str
    what: list[str]
    began_ns: int
    healed_ns: int | None
    """Null while it lasts."""


class LiveVariant(msgspec.Struct, frozen=True, kw_only=True):
    """One variant so far."""

    name: str
    phase: str
    """The phase it is in; `done` once another variant has begun."""
    published: int
    notified: int
    """Notifications that clients logged, judged or not."""
    under_way: int
    """Publications not judged yet: published within the last seconds."""
    judged: int
    """Publications judged for good."""
    rejected: int
    expected: int
    """Of those judged, as are the next five: notifications that must have come."""
    delivered: int
    optional: int
    excused: int
    lost: int
    """Notifications that must have come two minutes ago."""
    duplicate: int
    spurious: int
    missing: int
    """Notifications that must have come by now and may still come: queues hold them, or brokers that are down."""
    delay: LiveDelay | None
    messages: list[KindMessages]
    faults: list[LiveFault]

    @property
    def defects(self) -> list[str]:
        """What is wrong so far; whether order was kept, only the final analysis tells."""
        counted = {Defect.LOST: self.lost, Defect.DUPLICATED: self.duplicate, Defect.SPURIOUS: self.spurious}
        return [defect.value for defect, count in counted.items() if count]


class LiveSummary(msgspec.Struct, frozen=True, kw_only=True):
    """One run so far. `summary.json` replaces it when the run has ended."""

    format: int = FORMAT
    provisional: bool = True
    """Always: the verdict is the final analysis's."""
    run_id: str
    batch: int
    """How many times it was updated, from 0."""
    records: int
    torn: int
    malformed: int
    variants: list[LiveVariant]


def write_live_summary(summary: LiveSummary, directory: Path) -> None:
    """Replaces `summary.live.json` of a run directory in one step."""
    part = directory / f".{LIVE_SUMMARY}.part"
    part.write_bytes(msgspec.json.format(msgspec.json.encode(summary), indent=2) + b"\n")
    part.replace(directory / LIVE_SUMMARY)
