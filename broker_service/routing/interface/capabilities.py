"""Capabilities: what few protocols need beyond `Router`, in groups of calls and actions.

A router declares a capability by inheriting from its class, beside `Router`. An action of a capability that it has not
declared is a defect of the router.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from broker_service.messages import BrokerId, Message, StampedPublication
from broker_service.routing.interface.composite_units import (
    Cease,
    CompositeUnit,
    Contribute,
    Detect,
    Notify,
    RecordPlacement,
)
from broker_service.routing.interface.every_action import Action, Actions
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


class RecallsMessages(ABC):
    """Messages that wait for a neighbour are taken back, to be sent elsewhere or not at all."""

    @abstractmethod
    def returned(self, neighbour: BrokerId, messages: Sequence[Message]) -> Actions:
        """Messages that a `Recall` took back, at least one, in the order in which they were sent."""


class FollowsNeighbours(ABC):
    """Neighbours come and go while the broker runs, which `ProtocolOptions.neighbours_change` allows.

    A router without this capability finds them in `RouterContext.links`, which is live.
    """

    @abstractmethod
    def neighbour_added(self, neighbour: BrokerId) -> Actions:
        """A broker has become a neighbour; `link_up` follows when a stream to it is open.

        Neighbours that the broker started with are not announced: they are in `RouterContext.links` from the beginning.
        """

    @abstractmethod
    def neighbour_removed(self, neighbour: BrokerId) -> Actions:
        """A broker is a neighbour no more; `link_down` came before if the link was up.

        Whatever waited for it or was in flight is dropped. If it becomes a neighbour again, both ends begin anew.
        """


class StoresValues(ABC):  # noqa: B024 - a declaration without calls
    """Values are kept in stable storage, which is `RouterContext.storage`."""


class HoldsPublishers(ABC):  # noqa: B024 - a declaration without calls
    """Clients of the broker wait with publications while the router has no room for them."""


class KeepsStreams(ABC):
    """Clients learn where in a stream their subscriptions start and what of it is lost."""

    @abstractmethod
    def buffers(self) -> Sequence[Buffer]:
        """The buffers in which publications are kept, always the same ones."""


class RoutesComposites(ABC):
    """Composite subscriptions are routed as units, whose detection the protocol places."""

    @property
    def routes_units(self) -> bool:
        """False while composite subscriptions are split at the subscriber's broker after all (simple routing), and the
        router is given their parts only, as a router without this capability is."""
        return True

    @abstractmethod
    def compose(self, unit: CompositeUnit) -> Actions:
        """A client of this broker makes a composite subscription."""

    @abstractmethod
    def decompose(self, unit: str) -> Actions:
        """A client of this broker withdraws a composite subscription."""

    @abstractmethod
    def detected(self, unit: str, publications: tuple[StampedPublication, ...]) -> Actions:
        """Publications, in the order of their publishing, fulfil a unit that is detected at this broker."""


@dataclass(frozen=True, slots=True)
class Capability:
    """One group of calls and actions."""

    declared_by: type
    """The class that a router inherits from; its methods are the calls."""
    actions: tuple[type[Action], ...] = ()


CAPABILITIES: Mapping[str, Capability] = {
    "recall": Capability(RecallsMessages, (Recall,)),
    "neighbours": Capability(FollowsNeighbours),
    "storage": Capability(StoresValues, (Store, Erase)),
    "holding": Capability(HoldsPublishers, (HoldPublishers, ReleasePublishers)),
    "streams": Capability(KeepsStreams, (AnnounceStart, AnnounceLoss)),
    "composites": Capability(RoutesComposites, (Detect, Contribute, Cease, RecordPlacement, Notify)),
}
"""All capabilities by name."""

_NEEDS: Mapping[type[Action], str] = {
    action: name for name, capability in CAPABILITIES.items() for action in capability.actions
}


def capabilities_of(router: object) -> frozenset[str]:
    """Names of the capabilities that a router declares."""
    return frozenset(name for name, capability in CAPABILITIES.items() if isinstance(router, capability.declared_by))


def capability_for(action: type[Action]) -> str | None:
    """The capability that an action belongs to; None for one that every router may return."""
    return _NEEDS.get(action)
