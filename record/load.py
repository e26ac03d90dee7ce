"""The load of a run as its plan has it: what clients publish and want, before any broker has a part in it.

Each variant of a run leaves one such description, which its report shows.
"""

from __future__ import annotations

import msgspec


class Amounts(msgspec.Struct, frozen=True):
    """The operations of a whole run, by kind."""

    advertisements: int
    subscriptions: int
    composites: int
    """Composite subscriptions."""
    withdrawals: int
    """Advertisements and subscriptions that are withdrawn."""
    publications: int
    publishers: int
    """Clients that publish."""
    subscribers: int
    """Clients that subscribe."""


class Distribution(msgspec.Struct, frozen=True):
    """A distribution in few numbers."""

    mean: float
    p50: float
    p95: float
    most: float


class Course(msgspec.Struct, frozen=True):
    """Amounts over time, in equal parts of the join phase and the run phase together."""

    seconds: float
    """Duration of one part."""
    publications: list[int]
    changes: list[int]
    """Advertisements, subscriptions and their withdrawals."""


class PopularValue(msgspec.Struct, frozen=True):
    """One value of an attribute that subscriptions ask for."""

    value: str | int | float
    published: float
    """Share of the publications that have it."""
    wanted: float
    """Share of the subscriptions that ask for it."""


class Popularity(msgspec.Struct, frozen=True):
    """The attribute whose value most subscriptions name, and its most wanted values."""

    attribute: str
    values: list[PopularValue]


class Load(msgspec.Struct, frozen=True, kw_only=True):
    """The load of one variant."""

    variant: str
    amounts: Amounts
    run_begins: float
    """Seconds from the start of the join phase to that of the run phase."""
    course: Course
    busiest: float
    """Share of all publications that come from the tenth of the publishers that publish most."""
    publications_compared: int
    """Publications of the sample on which all that follows rests; that of all parts of the run."""
    subscriptions_compared: int
    """Subscriptions of that sample; composite ones are left out."""
    sizes: Distribution | None
    """Bytes of a publication's content; None without publications."""
    matches: Distribution | None
    """Subscriptions that a publication matches, at its time; None without publications."""
    unmatched: float
    """Share of the publications that match no subscription of the sample."""
    selectivity: Distribution | None
    """Share of the publications of its time that a subscription matches; None without subscriptions."""
    detections: Distribution | msgspec.UnsetType | None = msgspec.UNSET
    """Detections of a composite subscription in the whole run, were it to stand all the time, as far as the sample of
    publications tells; not set without composite subscriptions."""
    popularity: Popularity | None
    """Empty where subscriptions name no value."""
