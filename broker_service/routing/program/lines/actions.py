"""Actions: what a program has its broker do, each with the name and the fields of the action in Python."""

from __future__ import annotations

import msgspec

from broker_service.messages import ConstituentPublication, StreamPosition
from broker_service.routing.program.lines.contents import LeavingMessage, StampedLine, UnitLine
from record.log import PlacementRecord


class ActionLine(msgspec.Struct, tag_field="do", forbid_unknown_fields=True, omit_defaults=True):
    """An action of the program."""


class SendLine(ActionLine, tag="send"):
    """Action `Send`."""

    neighbour: str
    message: LeavingMessage
    label: str = ""
    ahead: bool = False


class DeliverLine(ActionLine, tag="deliver"):
    """Action `Deliver`."""

    clients: tuple[str, ...]
    message: LeavingMessage
    position: StreamPosition | None = None


class SetTimerLine(ActionLine, tag="set_timer"):
    """Action `SetTimer`."""

    key: str
    after: float
    awaited: bool = False


class CancelTimerLine(ActionLine, tag="cancel_timer"):
    """Action `CancelTimer`."""

    key: str


class RecallLine(ActionLine, tag="recall"):
    """Action `Recall`."""

    neighbour: str


class StoreLine(ActionLine, tag="store"):
    """Action `Store`."""

    key: str
    value: bytes


class EraseLine(ActionLine, tag="erase"):
    """Action `Erase`."""

    key: str


class HoldPublishersLine(ActionLine, tag="hold_publishers"):
    """Action `HoldPublishers`."""

    reason: str


class ReleasePublishersLine(ActionLine, tag="release_publishers"):
    """Action `ReleasePublishers`."""


class AnnounceStartLine(ActionLine, tag="announce_start"):
    """Action `AnnounceStart`."""

    client: str
    id: str


class AnnounceLossLine(ActionLine, tag="announce_loss"):
    """Action `AnnounceLoss`."""

    clients: tuple[str, ...]
    position: StreamPosition
    end: int


class DetectLine(ActionLine, tag="detect"):
    """Action `Detect`."""

    unit: UnitLine
    elsewhere: frozenset[int] = frozenset()


class ContributeLine(ActionLine, tag="contribute"):
    """Action `Contribute`."""

    unit: str
    publications: tuple[StampedLine, ...]


class CeaseLine(ActionLine, tag="cease"):
    """Action `Cease`."""

    unit: str


class RecordPlacementLine(ActionLine, tag="record_placement"):
    """Action `RecordPlacement`."""

    event: str
    unit: UnitLine
    placement: PlacementRecord
    reason: str
    peer: str | None = None


class NotifyLine(ActionLine, tag="notify"):
    """Action `Notify`."""

    unit: UnitLine
    publications: tuple[ConstituentPublication, ...]


AnyAction = (
    SendLine
    | DeliverLine
    | SetTimerLine
    | CancelTimerLine
    | RecallLine
    | StoreLine
    | EraseLine
    | HoldPublishersLine
    | ReleasePublishersLine
    | AnnounceStartLine
    | AnnounceLossLine
    | DetectLine
    | ContributeLine
    | CeaseLine
    | RecordPlacementLine
    | NotifyLine
)
