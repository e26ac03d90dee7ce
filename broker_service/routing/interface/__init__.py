"""The contract between a broker and a routing protocol; `router` states its rules."""

from broker_service.routing.interface.actions import CancelTimer, Deliver, Send, SetTimer, TimerKey
from broker_service.routing.interface.capabilities import (
    CAPABILITIES,
    FollowsNeighbours,
    HoldsPublishers,
    KeepsStreams,
    RecallsMessages,
    RoutesComposites,
    StoresValues,
    capabilities_of,
    capability_for,
)
from broker_service.routing.interface.composite_units import (
    Cease,
    CompositeUnit,
    Contribute,
    Detect,
    Notify,
    RecordPlacement,
)
from broker_service.routing.interface.context import (
    CompositeSurroundings,
    LinkStatus,
    Options,
    RouterContext,
    StoredValues,
)
from broker_service.routing.interface.errors import (
    MalformedMessageError,
    NoRoomError,
    RefusedPublicationError,
    RejectedError,
)
from broker_service.routing.interface.every_action import Action, Actions
from broker_service.routing.interface.matcher import Matcher
from broker_service.routing.interface.reliable_delivery import (
    AnnounceLoss,
    AnnounceStart,
    Buffer,
    Erase,
    HoldPublishers,
    Recall,
    ReleasePublishers,
    Store,
)
from broker_service.routing.interface.router import Router

__all__ = [
    "CAPABILITIES",
    "Action",
    "Actions",
    "AnnounceLoss",
    "AnnounceStart",
    "Buffer",
    "CancelTimer",
    "Cease",
    "CompositeSurroundings",
    "CompositeUnit",
    "Contribute",
    "Deliver",
    "Detect",
    "Erase",
    "FollowsNeighbours",
    "HoldPublishers",
    "HoldsPublishers",
    "KeepsStreams",
    "LinkStatus",
    "MalformedMessageError",
    "Matcher",
    "NoRoomError",
    "Notify",
    "Options",
    "Recall",
    "RecallsMessages",
    "RecordPlacement",
    "RefusedPublicationError",
    "RejectedError",
    "ReleasePublishers",
    "Router",
    "RouterContext",
    "RoutesComposites",
    "Send",
    "SetTimer",
    "Store",
    "StoredValues",
    "StoresValues",
    "TimerKey",
    "capabilities_of",
    "capability_for",
]
