"""Plants that fit the router of any protocol."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence

import msgspec

from broker_service.messages import Kind
from broker_service.routing.interface import Actions, Deliver, Router, Send
from tests.gauntlet.planting import EveryNth, around

Change = Callable[[Router, Actions], Actions]
"""Makes other actions of a router's own for a publication."""


def changes_publications(router: type[Router], change: Change, *, own: bool = True, others: bool = True) -> None:
    """Changes what a router does with publications of its own clients, and with those of its neighbours."""

    def publish(original, self, *arguments, **named):
        return change(self, original(self, *arguments, **named))

    def receive(original, self, neighbour, message):
        actions = original(self, neighbour, message)
        return change(self, actions) if message.kind is Kind.PUBLISH else actions

    if own:
        around(router, "publish", publish)
    if others:
        around(router, "receive", receive)


def drawn(id: str, share: float) -> bool:
    """True for this share of all identifiers, always the same ones."""
    return hashlib.blake2b(id.encode(), digest_size=2).digest() < round(share * 65536).to_bytes(2, "big")


def loses(router: type[Router]) -> None:
    """A third of all publications is forwarded to no neighbour, nor given to clients, by any broker but the first."""

    def receive(original, self, neighbour, message):
        lost = message.kind is Kind.PUBLISH and drawn(message.id, 1 / 3)
        return [] if lost else original(self, neighbour, message)

    around(router, "receive", receive)


def forgets_to_notify(router: type[Router]) -> None:
    """Every fifth delivery to clients is left out."""
    skip = EveryNth(5)
    changes_publications(
        router, lambda _, actions: [one for one in actions if not (isinstance(one, Deliver) and one.clients and skip())]
    )


def notifies_twice(router: type[Router]) -> None:
    """Every fifth delivery to clients is made twice."""
    again = EveryNth(5)
    changes_publications(
        router,
        lambda _, actions: [
            *actions,
            *(one for one in actions if isinstance(one, Deliver) and one.clients and again()),
        ],
    )


def notifies_everybody(router: type[Router]) -> None:
    """A delivery goes to all clients that have subscribed at the broker."""
    _clients_known(router)

    def change(self: Router, actions: Actions) -> Actions:
        everybody = tuple(dict.fromkeys(_CLIENTS.get(_key(self), {}).values()))
        return [_to(one, everybody) if isinstance(one, Deliver) and one.clients else one for one in actions]

    changes_publications(router, change)


def ignores_unsubscriptions(router: type[Router]) -> None:
    around(router, "unsubscribe", lambda original, self, client, id: [])


def forwards_twice(router: type[Router]) -> None:
    """Publications of the broker's own clients are sent twice."""
    changes_publications(
        router, lambda _, actions: [*actions, *(one for one in actions if isinstance(one, Send))], others=False
    )


def swaps_pairs(router: type[Router]) -> None:
    """Swaps deliveries in pairs: every second delivery of a publisher at a broker waits for the next one, and comes
    after it."""
    held: dict[tuple[int, str], list[Deliver]] = {}

    def change(self: Router, actions: Actions) -> Actions:
        own: Sequence[Deliver] = [one for one in actions if isinstance(one, Deliver) and one.clients]
        rest = [one for one in actions if one not in own]
        if not own:
            return actions
        waiting = held.setdefault((_key(self), own[0].message.id.partition(":")[0]), [])
        if not waiting:
            waiting += own
            return rest
        swapped = [*rest, *own, *waiting]
        waiting.clear()
        return swapped

    changes_publications(router, change)


_CLIENTS: dict[int, dict[str, str]] = {}
"""The clients of each router, by subscription."""


def _clients_known(router: type[Router]) -> None:
    def subscribe(original, self, client, id, subscription):
        _CLIENTS.setdefault(_key(self), {})[id] = client
        return original(self, client, id, subscription)

    around(router, "subscribe", subscribe)


def _key(router: Router) -> int:
    return id(router)


def _to(delivery: Deliver, clients: tuple[str, ...]) -> Deliver:
    return msgspec.structs.replace(delivery, clients=clients)
