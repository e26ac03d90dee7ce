"""Kinds of faults, and what heals them.

A fault record of the log names its kind, a healed record names the kind of heal (`record.log.Event`). Each kind of
fault has one kind of heal; several faults of different kinds may hold on one broker or link at a time, and a heal ends
those of its own kind alone.
"""

from __future__ import annotations

import enum
from typing import Self


class HealKind(enum.StrEnum):
    """The kind of a heal, which the `text` of a `healed` record holds."""

    RESTART = "restart"
    """The broker runs again: a new incarnation with empty tables under the same id."""
    RESUME = "resume"
    FULL_SPEED = "full_speed"
    UNTHROTTLE = "unthrottle"
    LINK_UP = "link_up"
    RECOVER = "recover"
    CLEAN = "clean"
    RECONNECT = "reconnect"
    """Follows a reset at once: brokers open another stream by themselves."""
    UNDISTURB = "undisturb"
    RETURN = "return"
    """Clients run again on their site, and open sessions of their own accord."""
    ARRIVE = "arrive"
    """Clients that moved have the access link to their new broker and, after a soft handover, no other one."""


LOST_STREAMS = "lost streams"
"""Links that do not resume: everything that a broken stream held is lost. Not a fault by itself, but a condition that a
routing protocol must survive (`record.promises`)."""


VANISHED_LINKS = "vanished links"
"""Links that vanish, with whatever they hold, from an overlay that changes. Not a fault by itself, but a condition that
a routing protocol must survive (`record.promises`)."""


class FaultKind(enum.StrEnum):
    """The kind of a fault, which the `text` of a `fault` record holds. A partition and a flapping link are links that
    are down."""

    healed_by: HealKind

    KILL = "kill", HealKind.RESTART
    """SIGKILL: the broker ends without notifying any neighbour or client."""
    STOP = "stop", HealKind.RESTART
    """SIGTERM: the broker ends in order."""
    PAUSE = "pause", HealKind.RESUME
    """The broker is frozen; its sockets stay open."""
    SLOW = "slow", HealKind.FULL_SPEED
    """Work is added to each message."""
    THROTTLE = "throttle", HealKind.UNTHROTTLE
    """The broker may use only a share of the CPU time."""
    LINK_DOWN = "link_down", HealKind.LINK_UP
    """Messages sent from now on are dropped; those in flight arrive."""
    DEGRADE = "degrade", HealKind.RECOVER
    """Delay, jitter, loss, rate or send time differ for messages sent from now on."""
    CORRUPT = "corrupt", HealKind.CLEAN
    """Frames arrive damaged; TCP detects them, drops them and sends them again."""
    RESET = "reset", HealKind.RECONNECT
    """The stream between two brokers is closed; the link stays."""
    DISTURB = "disturb", HealKind.UNDISTURB
    """Messages are lost, repeated or held back after the link has delivered them."""
    CRASH = "crash", HealKind.RETURN
    """Clients on a site end: the kernel resets their connections, and what waits in them is lost."""
    VANISH = "vanish", HealKind.RETURN
    """A site ends with all of its clients, and its access link carries no packet more: nobody tells the broker."""
    MOVE = "move", HealKind.ARRIVE
    """Clients change their broker: their access link vanishes and another one appears (`record.handover`)."""

    def __new__(cls, value: str, healed_by: HealKind) -> Self:
        member = str.__new__(cls, value)
        member._value_ = value
        member.healed_by = healed_by
        return member

    @property
    def of_clients(self) -> bool:
        """True for a fault of clients, which brokers and links do not have and whose cost no routing promises."""
        return self.healed_by in (HealKind.RETURN, HealKind.ARRIVE)

    @classmethod
    def named(cls, name: str) -> FaultKind | None:
        """The kind of this name; None for a name that only another version of brokerlab knows."""
        return next((kind for kind in cls if kind == name), None)
