"""Lines that a driver process reads on its standard input: the start of its workload, and changes of it."""

from __future__ import annotations

import msgspec

from emulation.drivers.site_end import SiteEnd
from record.handover import Handover
from scenario.workload.operations import PlannedOperation


class Start(msgspec.Struct, frozen=True, tag_field="do", tag="start"):
    """The workload begins."""

    start: int
    """The workload's time 0, in nanoseconds of the monotonic clock."""
    clock_offset: int = 0
    """Nanoseconds to add to this host's clock to get the run's, by which publications are stamped."""


class Further(msgspec.Struct, frozen=True, tag_field="do", tag="operation"):
    """An operation besides those in the driver's file; its time is ahead."""

    operation: PlannedOperation


class End(msgspec.Struct, frozen=True, tag_field="do", tag="end"):
    """No operation is issued from this time on."""

    at: int
    """Nanoseconds since the start of the workload."""


class Leave(msgspec.Struct, frozen=True, tag_field="do", tag="leave"):
    """Clients on sites end as in a crash: their connections are reset, and what waits in them is lost."""

    clients: tuple[str, ...]
    """Clients of other drivers may be among them."""


class Return(msgspec.Struct, frozen=True, tag_field="do", tag="return"):
    """Clients that have left run again."""

    clients: tuple[str, ...]


class Pause(msgspec.Struct, frozen=True, tag_field="do", tag="pause"):
    """Clients on sites send nothing and take nothing from now on; their connections stay open."""

    clients: tuple[str, ...]


class Resume(msgspec.Struct, frozen=True, tag_field="do", tag="resume"):
    """Clients that were paused continue."""

    clients: tuple[str, ...]


class Depart(msgspec.Struct, frozen=True, tag_field="do", tag="depart"):
    """Clients lose the access link of their sessions, and are at another broker or between two. Where they have no
    session there yet, what they do waits for it. The driver reports that they have left."""

    clients: tuple[str, ...]
    to: str
    """The broker that they go to."""
    handover: Handover


class Arrive(msgspec.Struct, frozen=True, tag_field="do", tag="arrive"):
    """Clients have an access link to another broker, and open sessions over it. Where they have left no broker yet,
    they keep their former sessions, too."""

    ends: dict[str, SiteEnd]
    """The ends of the new sessions, by client."""


Instruction = Start | Further | End | Leave | Return | Pause | Resume | Depart | Arrive
