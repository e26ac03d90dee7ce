"""The two kinds of declarations that clients make, advertisements and subscriptions: both are withdrawn alike."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic

from broker_service.language import Advertisement, Predicate, Subscription
from broker_service.messages import ClientId
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


def advertising(router: Router) -> Declaring[Advertisement]:
    """Advertisements, as a router takes them."""
    return Declaring("advertisement", Advertisement, _advertisements, router.advertise, router.unadvertise)


def subscribing(router: Router) -> Declaring[Subscription]:
    """Subscriptions, as a router takes them."""
    return Declaring("subscription", Subscription, _subscriptions, router.subscribe, router.unsubscribe)


def _advertisements(client: Client) -> dict[str, Declared[Advertisement]]:
    return client.advertisements


def _subscriptions(client: Client) -> dict[str, Declared[Subscription]]:
    return client.subscriptions
