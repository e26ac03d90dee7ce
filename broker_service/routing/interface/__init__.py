"""The contract between a broker and a routing protocol; `router` states its rules."""

from broker_service.routing.interface.actions import CancelTimer, Deliver, Recall, Send, SetTimer, TimerKey
from broker_service.routing.interface.composite_units import (
    Cease,
    CompositeUnit,
    Contribute,
    Detect,
    Notify,
    RecordPlacement,
)
from broker_service.routing.interface.context import LinkStatus, Options, RouterContext
from broker_service.routing.interface.reliable_delivery import (
    AnnounceLoss,
    AnnounceStart,
    Buffer,
    Erase,
    HoldPublishers,
    ReleasePublishers,
    Store,
)
from broker_service.routing.interface.router import Action, Actions, Router

__all__ = [
    "Action",
    "Actions",
    "AnnounceLoss",
    "AnnounceStart",
    "Buffer",
    "CancelTimer",
    "Cease",
    "CompositeUnit",
    "Contribute",
    "Deliver",
    "Detect",
    "Erase",
    "HoldPublishers",
    "LinkStatus",
    "Notify",
    "Options",
    "Recall",
    "RecordPlacement",
    "ReleasePublishers",
    "Router",
    "RouterContext",
    "Send",
    "SetTimer",
    "Store",
    "TimerKey",
]
