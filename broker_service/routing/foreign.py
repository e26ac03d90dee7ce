"""Routing of foreign brokers, which route as they like: what a scenario may state of it (docs/broker-contract.md).

Nothing routes here. The promises by which deliveries are judged are stated by the scenario, because brokerlab cannot
know what somebody else's broker promises. Any that are left out are those of a protocol that leaves publications to
queues.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NoReturn

import msgspec

from broker_service.routing.declaration import Protocol
from broker_service.routing.interface import RouterContext
from broker_service.routing.options import ProtocolOptions
from record.faults import LOST_STREAMS, VANISHED_LINKS, FaultKind
from record.promises import QUEUES_LOST, Completeness, Loss, Order, Promises

FOREIGN: Final = "foreign"
"""The name of this routing in scenarios."""

NOT_SIMULATED: Final = (
    "brokers.level: brokers of others run in real time, and the simulator has none for them; use `--runtime process` "
    "or `container`, or write a router, which it can run (docs/routers-in-any-language.md)"
)
"""The reason why the simulator refuses them."""

_SURVIVED = (*(kind for kind in FaultKind if not kind.of_clients), LOST_STREAMS, VANISHED_LINKS)


class ForeignOptions(ProtocolOptions, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The fields beside `protocol: foreign`."""

    neighbours_change = True

    order: Order = Order.NONE
    """The order in which a client is notified of the publications of one publisher."""
    delivery: Completeness = Completeness.EVERY
    """The completeness of notifications."""
    survives: dict[str, Loss] = msgspec.field(default_factory=dict)
    """Cost of kinds of faults, where it differs from that to brokers which keep publications in queues."""
    options: dict[str, Any] = msgspec.field(default_factory=dict)
    """The broker's own options, which it finds as `options` in its configuration."""

    def __post_init__(self) -> None:
        """Raises `ValueError` for a kind of fault that there is none of."""
        if unknown := next((kind for kind in self.survives if kind not in _SURVIVED), None):
            raise ValueError(f"survives: there is no kind of fault {unknown!r}; there are {', '.join(_SURVIVED)}")

    @property
    def promises(self) -> Promises:
        return Promises(order=self.order, delivery=self.delivery, survives={**QUEUES_LOST, **self.survives})


def options_for_brokers(protocol: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options in the form of `BrokerConfig.options`: those of a foreign broker are its own alone."""
    return dict(options.get("options", {}) if protocol == FOREIGN else options)


def _no_router(_context: RouterContext[Any]) -> NoReturn:
    raise ValueError("protocol `foreign` is the routing of brokers of others; this broker has no router for it")


PROTOCOL = Protocol(_no_router, ForeignOptions)
