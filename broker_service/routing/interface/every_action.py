"""The actions of all protocols together."""

from __future__ import annotations

from collections.abc import Sequence

from broker_service.routing.interface.actions import CancelTimer, Deliver, Send, SetTimer
from broker_service.routing.interface.composite_units import (
    Cease,
    Contribute,
    Detect,
    Notify,
    RecordPlacement,
)
from broker_service.routing.interface.reliable_delivery import (
    AnnounceLoss,
    AnnounceStart,
    Erase,
    HoldPublishers,
    Recall,
    ReleasePublishers,
    Store,
)

Action = (
    Send
    | Deliver
    | AnnounceStart
    | AnnounceLoss
    | SetTimer
    | CancelTimer
    | Recall
    | Store
    | Erase
    | HoldPublishers
    | ReleasePublishers
    | Detect
    | Contribute
    | Cease
    | RecordPlacement
    | Notify
)
Actions = Sequence[Action]
