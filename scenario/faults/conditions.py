"""Faults as values: a *condition* is one impairment of one broker, one direction of a link, or one host of clients.

Rules:

1. A condition holds from when it is begun until it is healed. Everything a scenario can ask for (a partition, a link
   that flaps, three killed brokers) is made of conditions and times (`programs`), so that the module that acts on
   brokers and links (`execution`) needs to know conditions only.
2. Conditions of different kinds on one target hold side by side. Of one kind, several may hold at once: a link that two
   partitions cut works again when both have ended; of two settings, the later one counts.
3. A broker that is down is nothing else: what else is wrong with it takes hold again when it is restarted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from broker_service.config import Disturbance
from record.faults import FaultKind, HealKind
from record.handover import Handover
from record.service_time import ServiceTime
from topology.link_properties import BrokerId, LinkDirection, LinkProperties
from topology.sites import ClientHost, Move

Target = BrokerId | LinkDirection | ClientHost
Setting = float | ServiceTime | LinkProperties | Disturbance | Move | None
"""To what extent a condition holds: None where it holds or does not. Which of these depends on the kind."""


@dataclass(frozen=True, slots=True)
class LinkChange:
    """The properties of a link that differ; those that are None stay as they are."""

    delay: float | None = None
    """One-way delay in seconds, like `jitter`."""
    jitter: float | None = None
    loss: float | None = None
    """Share, 0 to 1."""
    rate: float | None = None
    """Bits per second."""
    send_time: ServiceTime | None = None

    def applied(self, properties: LinkProperties) -> LinkProperties:
        given = {name: getattr(self, name) for name in self.__slots__ if getattr(self, name) is not None}
        return replace(properties, **given)


@dataclass(frozen=True, slots=True)
class Down:
    """A broker whose process has ended, by a crash or in order."""

    target: BrokerId
    how: FaultKind
    """Kind of the end, `KILL` or `STOP`."""
    heals_by: ClassVar[HealKind] = HealKind.RESTART


@dataclass(frozen=True, slots=True)
class Paused:
    """A broker, or clients on a site, that do nothing, and whose sockets stay open."""

    target: BrokerId | ClientHost
    begins_by: ClassVar[FaultKind] = FaultKind.PAUSE
    heals_by: ClassVar[HealKind] = begins_by.healed_by


@dataclass(frozen=True, slots=True)
class Throttled:
    """A broker that may use this many cores at most."""

    target: BrokerId
    cores: float
    begins_by: ClassVar[FaultKind] = FaultKind.THROTTLE
    heals_by: ClassVar[HealKind] = begins_by.healed_by


@dataclass(frozen=True, slots=True)
class Slowed:
    """A broker with a service time other than its own."""

    target: BrokerId
    service_time: ServiceTime
    begins_by: ClassVar[FaultKind] = FaultKind.SLOW
    heals_by: ClassVar[HealKind] = begins_by.healed_by


@dataclass(frozen=True, slots=True)
class Cut:
    """A direction that carries nothing."""

    target: LinkDirection
    begins_by: ClassVar[FaultKind] = FaultKind.LINK_DOWN
    heals_by: ClassVar[HealKind] = begins_by.healed_by


@dataclass(frozen=True, slots=True)
class Degraded:
    """A direction whose properties differ from its own."""

    target: LinkDirection
    change: LinkChange
    begins_by: ClassVar[FaultKind] = FaultKind.DEGRADE
    heals_by: ClassVar[HealKind] = begins_by.healed_by


@dataclass(frozen=True, slots=True)
class Corrupted:
    """A direction on which a share of the frames arrives damaged."""

    target: LinkDirection
    share: float
    begins_by: ClassVar[FaultKind] = FaultKind.CORRUPT
    heals_by: ClassVar[HealKind] = begins_by.healed_by


@dataclass(frozen=True, slots=True)
class Reset:
    """The stream is closed by the broker at which this direction begins. Lasts no time."""

    target: LinkDirection
    begins_by: ClassVar[FaultKind] = FaultKind.RESET
    heals_by: ClassVar[HealKind] = begins_by.healed_by


@dataclass(frozen=True, slots=True)
class Disturbed:
    """Messages that come in this direction are lost, repeated or held back."""

    target: LinkDirection
    disturbance: Disturbance
    begins_by: ClassVar[FaultKind] = FaultKind.DISTURB
    heals_by: ClassVar[HealKind] = begins_by.healed_by


@dataclass(frozen=True, slots=True)
class Away:
    """Clients that do not run, since a crash or since their site vanished."""

    target: ClientHost
    how: FaultKind
    """Kind of the end, `CRASH` or `VANISH`."""
    heals_by: ClassVar[HealKind] = HealKind.RETURN


@dataclass(frozen=True, slots=True)
class Moving:
    """Clients that change their broker: those of a hard handover are without any until it ends, those of a soft one
    have both."""

    target: ClientHost
    to: str
    """Broker to which a site goes, or site to which a client goes."""
    handover: Handover
    begins_by: ClassVar[FaultKind] = FaultKind.MOVE
    heals_by: ClassVar[HealKind] = begins_by.healed_by

    @property
    def move(self) -> Move:
        """The move, as sites know it."""
        return Move(self.target, self.to, self.handover)


BrokerCondition = Down | Paused | Throttled | Slowed
LinkCondition = Cut | Degraded | Corrupted | Reset | Disturbed
Condition = BrokerCondition | LinkCondition | Away | Moving

OF_BROKERS: tuple[type[BrokerCondition], ...] = (Down, Paused, Throttled, Slowed)
"""Being down first: the others depend on it."""
OF_LINKS: tuple[type[LinkCondition], ...] = (Cut, Degraded, Corrupted, Reset, Disturbed)
OF_CLIENTS: tuple[type[Away], ...] = (Away,)
"""Behind those of links: a site that vanishes has been cut off before its clients end, and is not when they return."""


def begins_by(condition: Condition) -> FaultKind:
    """Kind of the fault that begins a condition."""
    return condition.how if isinstance(condition, Down | Away) else condition.begins_by


def setting(holding: Sequence[Condition], own: LinkProperties) -> Setting:
    """Combined setting of conditions of one kind on one target, given in the order in which they began.

    `own` are the properties of the link's direction, where the target is one.
    """
    match holding[-1]:
        case Throttled(_, given) | Slowed(_, given) | Corrupted(_, given) | Disturbed(_, given):
            return given
        case Degraded():
            for condition in holding:
                assert isinstance(condition, Degraded)
                own = condition.change.applied(own)
            return own
        case Moving() as moving:
            return moving.move
        case Down() | Paused() | Cut() | Reset() | Away():
            return None
