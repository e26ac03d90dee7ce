"""Broken handling of composite subscriptions, each wrong in one way, to see that the properties notice."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from unittest import mock

from broker_service.core import actions, composites
from broker_service.core.composites import Composites, RoutedPart
from broker_service.detection import Detector
from broker_service.language.composite_subscription import CompositeSubscription
from broker_service.language.content import decode_publication, matches
from broker_service.messages import ClientEvent, ClientId, Message, Outcome


class LeavesParts(Composites):
    """A withdrawn composite subscription leaves its parts with the router."""

    def remove(self, client: ClientId, name: str) -> Sequence[RoutedPart]:
        super().remove(client, name)
        return ()


class LeavesOnePart(Composites):
    def remove(self, client: ClientId, name: str) -> Sequence[RoutedPart]:
        return super().remove(client, name)[1:]


class KeepsFormerMatches(Composites):
    """A composite subscription begins with what the one before it under its name has matched."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._matched: dict[tuple[ClientId, str], list[Message]] = defaultdict(list)

    def add(self, client: ClientId, name: str, composite: CompositeSubscription) -> Sequence[RoutedPart]:
        parts = super().add(client, name, composite)
        for message in self._matched[client, name]:
            content = decode_publication(message.body)
            list(super().arrive(message, [part.client for part in parts if matches(part.subscription, content)]))
        return parts

    def arrive(self, message: Message, clients: Sequence[ClientId]) -> Iterator[ClientEvent]:
        for name in clients:
            if name in self._places:
                standing = self._standing[self._places[name].composite]
                self._matched[standing.client, standing.name].append(message)
        return super().arrive(message, clients)


class SharesInternalClients(Composites):
    """All composite subscriptions of a broker have the same internal clients."""

    def add(self, client: ClientId, name: str, composite: CompositeSubscription) -> Sequence[RoutedPart]:
        self._numbered = 0
        return super().add(client, name, composite)


class DeliversParts(Composites):
    """The subscriber gets the publications that match a part."""

    def arrive(self, message: Message, clients: Sequence[ClientId]) -> Iterator[ClientEvent]:
        for name in clients:
            if name in self._places:
                subscriber = self._standing[self._places[name].composite].client
                yield ClientEvent(Outcome.NOTIFIED, (subscriber,), 0, message.id, message.body, message.hops)
        yield from super().arrive(message, clients)


class RoutesTheFirstPartOnly(Composites):
    def add(self, client: ClientId, name: str, composite: CompositeSubscription) -> Sequence[RoutedPart]:
        return super().add(client, name, composite)[:1]


@contextmanager
def in_place_of_composites(mutant: type[Composites]) -> Iterator[None]:
    """All brokers handle composite subscriptions in this way."""
    with mock.patch.object(actions, "Composites", mutant):
        yield


@contextmanager
def in_place_of_the_detector(mutant: type[Detector]) -> Iterator[None]:
    """All brokers detect in this way."""
    with mock.patch.object(composites, "Detector", mutant):
        yield
