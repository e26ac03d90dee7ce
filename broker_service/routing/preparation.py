"""The overlay and the clients of a run, as a protocol may look at them once, before brokers start."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from broker_service.language import Advertisement, Subscription
from broker_service.messages import BrokerId


class PlannedLink(NamedTuple):
    """A link between two brokers. Delays are in seconds, as brokers measure them."""

    a: BrokerId
    b: BrokerId
    delay: float
    """From a to b."""
    reverse_delay: float
    """From b to a."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Preparation:
    """The input of `ProtocolOptions.prepare`."""

    brokers: Mapping[BrokerId, Mapping[str, object]]
    """Overlay attributes of every broker."""
    links: Collection[PlannedLink]
    """May be iterated over repeatedly. A mesh makes its links while that is done."""
    advertisements: Mapping[BrokerId, Sequence[Advertisement]]
    subscriptions: Mapping[BrokerId, Sequence[Subscription]]
    """By the broker of the client: those of clients that are there from the beginning, and those written out in the
    scenario, whenever they are issued and withdrawn."""
    seed: int
    """The run's, for random choices: the same input must give the same result."""
