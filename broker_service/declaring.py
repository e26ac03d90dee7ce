"""The two kinds of declarations that clients make, advertisements and subscriptions: both are withdrawn alike."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic

from broker_service.errors import RejectedError
from broker_service.language import Advertisement, ContentError, Predicate, Subscription
from broker_service.language.wire import decode_predicates
from broker_service.messages import ClientId, ClientRequest
from broker_service.routing.interface import Actions, Router
from broker_service.sessions import Client, Content, Declared


@dataclass(frozen=True, slots=True)
class Declaring(Generic[Content]):
    """Handling of one kind of declaration."""

    noun: str
    read: Callable[[tuple[Predicate, ...]], Content]
    of: Callable[[Client], dict[str, Declared[Content]]]
    """A client's present declarations, by its own names."""
    declare: Callable[[ClientId, str, Content], Actions]
    withdraw: Callable[[ClientId, str], Actions]
    """Calls of the router."""


class Declarations:
    """All declarations of one broker's clients, in bounded memory."""

    def __init__(
        self, router: Router, perform: Callable[[Actions], None], new_id: Callable[[], str], most_bytes: int
    ) -> None:
        """`new_id` makes identifiers for the overlay; `most_bytes` bounds the memory, approximately."""
        self.advertisements = Declaring(
            "advertisement", Advertisement, _advertisements, router.advertise, router.unadvertise
        )
        self.subscriptions = Declaring(
            "subscription", Subscription, _subscriptions, router.subscribe, router.unsubscribe
        )
        self._perform = perform
        self._new_id = new_id
        self._most_bytes = most_bytes
        self._bytes = 0

    def declare(self, declaring: Declaring[Content], client: Client, request: ClientRequest) -> None:
        """Idempotent: repeating a declaration has no effect; a different one under the same name replaces it."""
        try:
            content = declaring.read(decode_predicates(request.body))
        except ContentError as error:
            raise RejectedError(str(error)) from None
        declared = declaring.of(client)
        present = declared.get(request.id)
        if present is not None and present.body == request.body:
            return
        made = Declared(self._new_id(), content, request.body)
        occupied = self._bytes + made.size - (present.size if present is not None else 0)
        if occupied > self._most_bytes:
            raise RejectedError("the broker has no room for further advertisements and subscriptions")
        if present is not None:
            self.retract(declaring, client, request)
        actions = declaring.declare(client.id, made.id, content)
        declared[request.id] = made
        self._bytes = occupied
        self._perform(actions)

    def retract(self, declaring: Declaring[Content], client: Client, request: ClientRequest) -> None:
        made = declaring.of(client).pop(request.id, None)
        if made is None:
            raise RejectedError(f"client {client.id!r} has no {declaring.noun} {request.id!r}")
        self._bytes -= made.size
        self._perform(declaring.withdraw(client.id, made.id))

    def withdraw(self, client: Client) -> None:
        """Withdraws all that a client has declared."""
        for subscribed in client.subscriptions.values():
            self._perform(self.subscriptions.withdraw(client.id, subscribed.id))
        for advertised in client.advertisements.values():
            self._perform(self.advertisements.withdraw(client.id, advertised.id))
        self._bytes -= sum(subscribed.size for subscribed in client.subscriptions.values())
        self._bytes -= sum(advertised.size for advertised in client.advertisements.values())


def _advertisements(client: Client) -> dict[str, Declared[Advertisement]]:
    return client.advertisements


def _subscriptions(client: Client) -> dict[str, Declared[Subscription]]:
    return client.subscriptions
