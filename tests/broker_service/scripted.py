"""A protocol for tests: its router does what publications ask for, and delivers them to clients of their own broker.

Attribute `do` of a publication is a list of actions, separated by spaces: `await:KEY:SECONDS`, `tick:KEY:SECONDS`,
`cancel:KEY`, `store:KEY:VALUE`, `erase:KEY`, `hold:REASON`, `release`, `refuse:REASON`, `deliver`, and `start:NUMBER`,
which announces the start of one of the subscriptions, the oldest of which has number 0. The timer `release` releases
publishers when it runs out; others have no effect. The only table shows what is stored, and what was prepared: how many
advertisements, subscriptions and links the protocol was shown.

`python -m tests.broker_service.scripted CONFIG.json` runs a broker process that knows this protocol.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, cast
from unittest import mock

from broker_service.grpc_shell.server import main
from broker_service.language import Advertisement, Operator, Predicate, Publication, Subscription
from broker_service.messages import BrokerId, ClientId, Message
from broker_service.routing.declaration import Protocol
from broker_service.routing.interface import (
    Action,
    Actions,
    AnnounceStart,
    Buffer,
    CancelTimer,
    Deliver,
    Erase,
    HoldPublishers,
    HoldsPublishers,
    KeepsStreams,
    RefusedPublicationError,
    ReleasePublishers,
    Router,
    RouterContext,
    SetTimer,
    Store,
    StoresValues,
    TimerKey,
)
from broker_service.routing.options import Preparation, ProtocolOptions
from broker_service.routing.registry import PROTOCOLS

SCRIPTED = "scripted"
"""The protocol's name."""

SCRIPTS = Advertisement(
    (Predicate("class", Operator.STRING_EQUAL, "SCRIPT"), Predicate("do", Operator.STRING_PREFIX, ""))
)
ALL = Subscription(SCRIPTS.predicates)


def script(do: str) -> Publication:
    """A publication that conforms to `SCRIPTS` and matches `ALL`."""
    return Publication({"class": "SCRIPT", "do": do})


class Seen(NamedTuple):
    """The preparation, in numbers."""

    advertisements: int
    subscriptions: int
    delays: list[float]
    links: int
    seed: int


class ScriptedOptions(ProtocolOptions, frozen=True, kw_only=True, forbid_unknown_fields=True):
    refuses: str = ""
    """Reason why it cannot prepare; with an empty one, it can."""
    prepares_for: str = ""
    """A broker to prepare for besides those of the overlay."""

    def prepare(self, preparation: Preparation) -> Mapping[BrokerId, bytes]:
        if self.refuses:
            raise ValueError(self.refuses)
        seen = Seen(
            advertisements=sum(map(len, preparation.advertisements.values())),
            subscriptions=sum(map(len, preparation.subscriptions.values())),
            delays=[link.delay for link in preparation.links],
            links=len(list(preparation.links)),
            seed=preparation.seed,
        )
        brokers = [*preparation.brokers, *([self.prepares_for] if self.prepares_for else [])]
        return {broker: f"{broker}: {seen}".encode() for broker in brokers}


class ScriptedRouter(Router, StoresValues, HoldsPublishers, KeepsStreams):
    """A router that does what attribute `do` of each publication asks for."""

    def __init__(self, context: RouterContext[ScriptedOptions]) -> None:
        self.context = context
        self._subscribers: dict[str, ClientId] = {}

    def subscribe(self, client: ClientId, id: str, subscription: Subscription) -> Actions:
        self._subscribers[id] = client
        return ()

    def unsubscribe(self, client: ClientId, id: str) -> Actions:
        del self._subscribers[id]
        return ()

    def publish(self, client: ClientId, message: Message, publication: Publication, advertisement: str) -> Actions:
        return [self._action(wanted, message) for wanted in str(publication.attributes["do"]).split()]

    def receive(self, neighbour: BrokerId, message: Message) -> Actions:
        raise AssertionError("sends nothing")

    def timer(self, key: TimerKey) -> Actions:
        return [ReleasePublishers()] if key == "release" else []

    def buffers(self) -> Sequence[Buffer]:
        return ()

    def tables(self) -> Mapping[str, object]:
        return {
            "stored": {key: value.decode() for key, value in self.context.storage.values.items()},
            "prepared": self.context.prepared.decode(),
        }

    def _action(self, wanted: str, message: Message) -> Action:
        match wanted.split(":"):
            case ["await", key, seconds]:
                return SetTimer(key, float(seconds), awaited=True)
            case ["tick", key, seconds]:
                return SetTimer(key, float(seconds))
            case ["cancel", key]:
                return CancelTimer(key)
            case ["store", key, value]:
                return Store(key, value.encode())
            case ["erase", key]:
                return Erase(key)
            case ["hold", reason]:
                return HoldPublishers(reason)
            case ["release"]:
                return ReleasePublishers()
            case ["refuse", reason]:
                raise RefusedPublicationError(reason)
            case ["start", number]:
                id, client = list(self._subscribers.items())[int(number)]
                return AnnounceStart(client, id)
            case ["deliver"]:
                return Deliver(tuple(dict.fromkeys(self._subscribers.values())), message)
        raise AssertionError(f"no action: {wanted}")


@contextlib.contextmanager
def registered() -> Iterator[None]:
    """Makes the protocol known."""
    protocol = Protocol(ScriptedRouter, ScriptedOptions)
    with mock.patch.dict(cast(dict[str, Protocol], PROTOCOLS), {SCRIPTED: protocol}):
        yield


if __name__ == "__main__":
    with registered():
        sys.exit(main())
