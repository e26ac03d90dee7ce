"""Tables of overlays that change while they run. Variants whose overlay stays as it is have no rows in them."""

from __future__ import annotations

from msgspec import Struct


class LinkLifetime(Struct, frozen=True, kw_only=True):
    """One row per variant and link, from its appearance until it vanished; a link that came back is another one."""

    variant: str
    a: str
    b: str
    number: int
    """1 for the first link of these two brokers, 2 for the next."""
    appeared_ns: int | None
    """Time at which the link appeared; null for a link that was there from the start."""
    vanished_ns: int | None
    """Time at which the link vanished; null for a link that was there at the end."""
    appeared_s: float | None
    """Seconds from the start of the run phase; null as `appeared_ns` is."""
    vanished_s: float | None
    late_ms: float | None
    """Time by which it appeared later than it was due; null for a link that was there from the start."""


class Connectivity(Struct, frozen=True, kw_only=True):
    """One row per variant and second, from the begin of the join phase until clients left."""

    variant: str
    second: int
    connected: float
    """Share of the second in which all brokers reached each other over links."""
    pairs: float
    """Share of the pairs of brokers that reached each other, on average over the second."""
    links: int
    """Links at the begin of the second."""
    appeared: int
    """Links that appeared in the second."""
    vanished: int


class Spread(Struct, frozen=True, kw_only=True):
    """One row per variant, publication and broker that it reached, of a sample of publications.

    Only runs whose overlays change have this table. The sample holds at most 24 publications of a variant, which a hash
    of their ids chooses.
    """

    variant: str
    publication: str
    broker: str
    reached_ns: int
    """Time at which it first arrived at the broker."""
    reached_s: float
    """Time at which it first arrived at the broker, in seconds from the start of the run phase."""
    hops: int
    """Links travelled by the copy that arrived first."""


class DegreeOverTime(Struct, frozen=True, kw_only=True):
    """One row per variant, second and number of links that a broker has at the begin of the second."""

    variant: str
    second: int
    degree: int
    brokers: int
    """Brokers with this number of links."""
