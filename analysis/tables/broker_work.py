"""Tables of what brokers spent: processor time and memory, comparisons of content, selection of paths."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct


class BrokerLoad(Struct, frozen=True, kw_only=True):
    """One row per variant, broker and second in which the broker ran, until clients left."""

    variant: str
    broker: str
    second: int
    processor: float
    """Processor time of the broker's process in this second, divided by the time that passed: 1 is one busy processor.

    Of a simulated broker it is the share of the second in which its modelled service was occupied. With time dilation
    it is the share during the run, which was that much slower.
    """
    memory_bytes: int | None
    """Resident memory of the process; null in the simulator."""


class WorkKind(StrEnum):
    """The kinds of work of a router on a publication."""

    MATCHING = "matching"
    """Comparing its content with the subscriptions stored at the broker. Each comparison counts once."""
    PATH_SELECTION = "path selection"
    """All other work, from the arrival of the publication until its next hops are known: reading the header and
    choosing next hops. Counts once for each arrival at a broker."""


class MatchingLoad(Struct, frozen=True, kw_only=True):
    """One row per variant and broker that compared content with subscriptions."""

    variant: str
    broker: str
    operations: int
    """Comparisons of one publication's content with the subscriptions stored there."""
    matches: int
    """Subscriptions that matched, summed over all comparisons."""
    time_ms: float
    """Time spent comparing, summed over all comparisons, milliseconds."""


class WorkFigures(Struct, frozen=True, kw_only=True):
    """Time that routers took for one kind of work on publications: of a broker, or of all together."""

    work: str
    """matching or path selection: see `WorkKind`."""
    count: int
    """The number of comparisons, or of arrivals for which paths were selected."""
    mean_us: float
    """Mean in microseconds; the next four fields are quantiles and the maximum."""
    p50_us: float
    p95_us: float
    p99_us: float
    max_us: float


class RouterWork(WorkFigures, frozen=True):
    """One row per variant, broker and kind of work on publications that took time there.

    Times are by the broker's clock, so they include what else the host did meanwhile, and in the scenario's time. A
    simulated broker's clock stands still while its router works, so it has no row. Percentiles are at most 2.3% too
    large.
    """

    # These are the first columns, because the fields of the base are keyword-only.
    variant: str
    broker: str
