"""The kinds of declarations that clients make: advertisements, subscriptions and composite subscriptions.

All are made and withdrawn alike. Subscriptions and composite subscriptions share one name space.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Generic

from broker_service.core.actions import ActionExecutor
from broker_service.core.session import Client, Content, Declared
from broker_service.core.surroundings import Surroundings
from broker_service.language import ContentError
from broker_service.language.composite_subscription import CompositeSubscription
from broker_service.language.composite_wire import decode_composite
from broker_service.language.content import decode_advertisement, decode_subscription
from broker_service.messages import ClientId, ClientRequest
from broker_service.routing.interface import Action, Actions, RejectedError, RoutesComposites


@dataclass(frozen=True, slots=True)
class Declaring(Generic[Content]):
    """Handling of one kind of declaration."""

    noun: str
    decode: Callable[[bytes], Content]
    identify: Callable[[ClientRequest], str]
    """`Declared.id` of what a request declares."""
    of: Callable[[Client], dict[str, Declared[Any]]]
    """A client's present declarations in the name space of this kind, by the client's own names."""
    declare: Callable[[ClientId, str, Content], Actions]
    withdraw: Callable[[ClientId, str], Actions]


class Declarations:
    """All declarations of one broker's clients, in bounded memory."""

    def __init__(self, surroundings: Surroundings, actions: ActionExecutor) -> None:
        router = actions.router
        self.advertisements = Declaring(
            "advertisement", decode_advertisement, self._new_id, _advertisements, router.advertise, router.unadvertise
        )
        self.subscriptions = Declaring(
            "subscription", decode_subscription, self._new_id, _subscriptions, router.subscribe, router.unsubscribe
        )
        self.composites = Declaring(
            "composite subscription", decode_composite, _own_name, _subscriptions, self._compose, self._decompose
        )
        self._router = router
        self._units_router = router if isinstance(router, RoutesComposites) and router.routes_units else None
        self._composites = actions.composites
        self._perform = actions.perform
        self._make_id = surroundings.new_id
        self._most_bytes = surroundings.limits.declared_bytes
        self._bytes = 0
        self._units: dict[tuple[ClientId, str], str] = {}
        """Identifiers of the composite subscriptions that the router routes as units, by client and name."""

    def declare(self, declaring: Declaring[Content], client: Client, request: ClientRequest) -> None:
        """Idempotent: repeating a declaration has no effect; a different one under the same name replaces it."""
        try:
            content = declaring.decode(request.body)
        except ContentError as error:
            raise RejectedError(str(error)) from None
        declared = declaring.of(client)
        present = declared.get(request.id)
        if present is not None and present.body == request.body and type(present.content) is type(content):
            return
        made = Declared(declaring.identify(request), content, request.body, declaring.withdraw)
        occupied = self._bytes + made.size - (present.size if present is not None else 0)
        if occupied > self._most_bytes:
            raise RejectedError("the broker has no room for further advertisements and subscriptions")
        if present is not None:
            self.retract(declaring, client, request)
        actions = declaring.declare(client.id, made.id, content)
        declared[request.id] = made
        client.names[made.id] = request.id
        self._bytes = occupied
        self._perform(actions)

    def retract(self, declaring: Declaring[Any], client: Client, request: ClientRequest) -> None:
        """Withdraws what a client has declared under a name, of whatever kind in that name space."""
        made = declaring.of(client).pop(request.id, None)
        if made is None:
            raise RejectedError(f"client {client.id!r} has no {declaring.noun} {request.id!r}")
        self._bytes -= made.size
        client.names.pop(made.id, None)
        self._perform(made.withdraw(client.id, made.id))

    def withdraw(self, client: Client) -> None:
        """Withdraws all that a client has declared."""
        for made in (*client.subscriptions.values(), *client.advertisements.values()):
            self._perform(made.withdraw(client.id, made.id))
            self._bytes -= made.size

    def _new_id(self, _request: ClientRequest) -> str:
        return self._make_id()

    def _compose(self, client: ClientId, name: str, composite: CompositeSubscription) -> Actions:
        if self._units_router is not None:
            unit = self._composites.make_unit(self._make_id(), client, name, composite)
            self._units[client, name] = unit.id
            return self._units_router.compose(unit)
        actions: list[Action] = []
        for part in self._composites.add(client, name, composite):
            actions += self._router.subscribe(part.client, part.id, part.subscription)
        return actions

    def _decompose(self, client: ClientId, name: str) -> Actions:
        unit = self._units.pop((client, name), None)
        if unit is not None and self._units_router is not None:
            return self._units_router.decompose(unit)
        actions: list[Action] = []
        for part in self._composites.remove(client, name):
            actions += self._router.unsubscribe(part.client, part.id)
        return actions


def _own_name(request: ClientRequest) -> str:
    return request.id


_advertisements: Callable[[Client], dict[str, Declared[Any]]] = attrgetter("advertisements")
_subscriptions: Callable[[Client], dict[str, Declared[Any]]] = attrgetter("subscriptions")
