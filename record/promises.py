"""The promises of a routing protocol: the order and completeness of notifications, and the cost of each kind of fault.

A protocol's options state them, the manifest records them, and the delivery oracle judges by them and by nothing else
(docs/guarantees.md). No promise is needed against duplicates and against notifications that do not match: no protocol
may make them.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping

import msgspec

from record.faults import FaultKind


class Order(enum.StrEnum):
    """The order in which a client is notified of the publications of one publisher."""

    NONE = "none"
    """Any order. Overtaking is counted."""
    ADVERTISEMENT = "advertisement"
    """The order of publishing among publications on the tree of one advertisement, for a client that must get them."""
    PUBLISHER = "publisher"
    """The order of publishing among all publications of the publisher, for every notification."""


class Completeness(enum.StrEnum):
    """The completeness of notifications."""

    EVERY = "every"
    """A client gets every publication that its settled subscriptions match, unless a fault may cost it."""
    BEST_EFFORT = "best-effort"
    """A client gets such a publication with some probability: the delivery ratio is a result and no verdict. A broker
    that receives the publication notifies all of its own clients even so, and may promise to pass it on to neighbours
    (`Promises.passes_on_within`)."""


class Loss(enum.StrEnum):
    """The publications that a fault of one kind may cost, from the least to all of them."""

    NOTHING = "nothing"
    """Nothing is lost; publications are late at most."""
    UNACCEPTED = "unaccepted"
    """Notifications of the failed broker's own clients, and publications of these that it had not accepted. An accepted
    publication reaches all other clients, at the latest once the broker is back."""
    OWN_CLIENTS = "own clients"
    """Notifications and publications of the failed broker's own clients."""
    IN_FLIGHT = "in flight"
    """Every publication in flight while the fault lasts and until the overlay has recovered from it."""
    EVERYTHING = "everything"
    """Everything that `IN_FLIGHT` names, and publications may wait unseen for as long as the fault lasts: it is not
    survived. This is the cost of every kind that a protocol does not name."""


QUEUES_LOST: Mapping[str, Loss] = {
    FaultKind.KILL: Loss.IN_FLIGHT,
    FaultKind.STOP: Loss.IN_FLIGHT,
    FaultKind.PAUSE: Loss.NOTHING,
    FaultKind.SLOW: Loss.NOTHING,
    FaultKind.THROTTLE: Loss.NOTHING,
    FaultKind.LINK_DOWN: Loss.NOTHING,
    FaultKind.DEGRADE: Loss.NOTHING,
    FaultKind.CORRUPT: Loss.NOTHING,
    FaultKind.RESET: Loss.NOTHING,
}
"""The cost of faults to a protocol that leaves publications to the queues of brokers: a broker that ends takes its
queues with it, and nothing else that is named here loses any. It does not survive messages that its links lose, repeat
or reorder. A kind is named only where links and queues as such survive it, so a new kind costs everything at first."""


class Promises(msgspec.Struct, frozen=True, kw_only=True):
    """The promises of a protocol with given options."""

    order: Order = Order.NONE
    delivery: Completeness = Completeness.EVERY
    survives: Mapping[str, Loss] = msgspec.field(default_factory=lambda: dict(QUEUES_LOST))
    """Cost of each kind of fault or condition (`record.faults`). A kind that is not named is not survived."""
    passes_on_within: int | msgspec.UnsetType = msgspec.UNSET
    """Under best effort: a broker whose first copy of a publication has travelled fewer links than this passes it on to
    each neighbour that has an interested client. Not set where nothing of the kind is promised."""

    announces_starts: bool | msgspec.UnsetType = msgspec.UNSET
    """True when the subscriber's broker announces the start of each subscription: every publication that it matches
    reaches the client, if it is made from then on by a client of a broker that could be reached at that time. Those of
    a broker that was down or cut off are covered once it can be reached and has recovered. The start is that of one
    session. Not set where nothing is announced, and true otherwise."""

    gives_up: bool | msgspec.UnsetType = msgspec.UNSET
    """True when publications may be given up for clients of a broker that is cut off from the publisher's broker: then
    none that a later one follows is missing without a lost range that the client is notified of. Not set where nothing
    is given up."""

    def loss(self, kind: str) -> Loss:
        """The cost of a fault of this kind."""
        return self.survives.get(kind, Loss.EVERYTHING)

    @property
    def gapless(self) -> bool:
        """True when a client gets, from the publication with which its subscription starts, every matching one of a
        publisher, in order of publishing."""
        return self.order is Order.PUBLISHER and self.delivery is Completeness.EVERY

    @property
    def keeps_accepted(self) -> bool:
        """True when there are faults that cost no publication which the failed broker had accepted."""
        return Loss.UNACCEPTED in self.survives.values()

    @property
    def spares_others(self) -> bool:
        """True when there are faults that cost only what clients of the failed broker publish or should get."""
        return any(loss in (Loss.UNACCEPTED, Loss.OWN_CLIENTS) for loss in self.survives.values())
