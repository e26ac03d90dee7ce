"""The state of a page that shows a run: overlays, phases and a frame for each second of each variant.

The page of a run that goes on and that of a finished one hold the same state. Frames are kept by their second, and one
that is sent again replaces the earlier one, because logs of different nodes come at different times.
"""

from __future__ import annotations

import msgspec


class Strike(msgspec.Struct, frozen=True, array_like=True):
    """A fault, or its heal, or a link that appeared or vanished."""

    kind: str
    """The kind as the log has it: kill, link_down, restart, appeared, ..."""
    place: str
    """A broker, `A-B` for a link, `A->B` for one direction of it."""
    begins: bool
    """True for a fault, and for a link that vanished."""
    at: float
    """Seconds as frames count them, with decimals."""
    site: int = -1
    """Number of the site that it is at, of a fault of a site, of its access link or of one of its clients; else -1."""
    to: int = -1
    """Number of the broker at which a site that moves has arrived; -1 for everything else."""
    joins: int = -1
    """Number of the site at which a client that moves, from `site`, has arrived; -1 for everything else."""


class SiteSecond(msgspec.Struct, frozen=True, array_like=True):
    """One second of a site."""

    site: int
    """Number of the site."""
    to_broker: int
    """Publications that its clients handed over."""
    to_clients: int
    """Notifications that its broker passed on to its clients."""
    unread: int
    """The change of the number of notifications that clients which read at a rate have not read yet."""
    dropped: int
    """Notifications that its broker dropped, because a client does not read."""


class Frame(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One second of a variant."""

    at: int
    """Seconds of the scenario's time, on the clock of the logs."""
    published: int = 0
    notified: int = 0
    """Notifications that clients got in this second, those of composite subscriptions included."""
    due: int = 0
    """Notifications that the publications of this second owe to clients, by the judge's matching: those whose
    subscription had been confirmed before, and was not withdrawn."""
    arrived: int = 0
    """Notifications that arrived in this second, and were due of a publication of this second or an earlier one."""
    median_ms: float | None = None
    """The median delay of those that arrived. None without any."""
    most_ms: float | None = None
    """The delay that 95% of those that arrived do not exceed. None without any."""
    sent: list[tuple[int, int]] = []
    """Numbers of directed links, and the messages that left for each, as gauges tell (`analysis.live.sent`)."""
    queues: list[tuple[int, int]] = []
    """Numbers of directed links, and the messages that wait for each since this second."""
    work: list[tuple[int, float]] = []
    """Numbers of brokers, and the share of a processor that each took in the second before its gauge."""
    strikes: list[Strike] = []
    sites: list[SiteSecond] = []
    """Sites over whose access links something went."""


class ShownBroker(msgspec.Struct, frozen=True, array_like=True):
    """A broker on the map; coordinates are in the unit square, with y downwards."""

    name: str
    x: float
    y: float


class ShownSite(msgspec.Struct, frozen=True, array_like=True):
    """A site of clients on the map."""

    name: str
    broker: int
    """Number of the broker at which it begins."""
    clients: int
    """Number of the clients that are on it."""
    access: str
    """The access link as asked for, in words."""
    reads: float
    """Notifications a second that each of its clients reads; 0 where they read whatever comes."""


class ShownPhase(msgspec.Struct, frozen=True, array_like=True):
    """A phase that has ended, in seconds as frames count them."""

    name: str
    begin: float
    end: float


Corner = tuple[float, float, float]
"""Seconds from the start of the join phase, x and y: a point at which a broker that moves changes its direction."""


class ShownOverlay(msgspec.Struct, frozen=True):
    """The map of a variant."""

    brokers: list[ShownBroker]
    links: list[tuple[int, int]]
    """Numbers of the sender and the receiver of each directed link, in order of the links' numbers."""
    ways: list[list[Corner]] = []
    """The corners of each broker's way, between which it moves straight; empty where brokers stay in place."""
    sites: list[ShownSite] = []
    """Empty where all clients are beside their brokers."""


class Visit(msgspec.Struct, frozen=True, array_like=True):
    """The first arrival of a publication at a broker."""

    at: float
    """Seconds as frames count them, to the microsecond."""
    broker: int
    """Number of the broker."""
    sender: int
    """Number of the broker that it came from; -1 for a client."""


class Followed(msgspec.Struct, frozen=True, array_like=True):
    """A publication whose way can be followed on the map."""

    name: str
    visits: list[Visit]
    """In order of time."""


class ShownVariant(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One variant, whole or as far as it has changed since an earlier version."""

    name: str
    overlay: ShownOverlay | None = None
    """The map where it has changed; None where it has not."""
    phases: list[ShownPhase]
    frames: list[Frame]
    followed: list[Followed] = []
    """A sample of publications; empty until the run is over."""
    verdict: str = ""
    """The judge's sentence on deliveries; empty for a run that has not been judged."""


class State(msgspec.Struct, frozen=True, kw_only=True):
    """All that a page shows of a run."""

    run: str
    scenario: str
    version: int
    """Number of the look at the logs that it stands for."""
    over: bool
    """True for a run that has ended."""
    variants: list[ShownVariant]
    """The variants that have begun."""
    awaited_hosts: list[str] = []
    """The hosts of the run whose logs are not there, or not all of them."""
