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
from broker_service.routing.interface.errors import (
    MalformedMessageError,
    NoRoomError,
    RefusedPublicationError,
    RejectedError,
)
from broker_service.routing.interface.matcher import Matcher
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
    "MalformedMessageError",
    "Matcher",
    "NoRoomError",
    "Notify",
    "Options",
    "Recall",
    "RecordPlacement",
    "RefusedPublicationError",
    "RejectedError",
    "ReleasePublishers",
    "Router",
    "RouterContext",
    "Send",
    "SetTimer",
    "Store",
    "TimerKey",
]
