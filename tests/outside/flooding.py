"""Flooding, as a designer's file outside of the product declares it, and variants with one mistake each."""

from __future__ import annotations

from pathlib import Path

SOURCE = """
import msgspec
from brokerlab.protocol import Deliver, Protocol, ProtocolOptions, Router, Send


class Options(ProtocolOptions, frozen=True, kw_only=True, forbid_unknown_fields=True):
    times = ("patience",)
    patience: float = 1.0

    def prepare(self, preparation):
        return {broker: b"ready" for broker in preparation.brokers}


class Flooding(Router):
    def __init__(self, context):
        self._context = context
        self._subscriptions = context.matcher()
        self._seen = set()
        self._published = 0

    def subscribe(self, client, id, subscription):
        self._subscriptions.add((client, id), subscription)
        return ()

    def unsubscribe(self, client, id):
        self._subscriptions.remove((client, id))
        return ()

    def publish(self, client, message, publication, advertisement):
        self._published += 1
        number = f"{self._context.broker}.{self._context.incarnation}.{self._published}"
        return self._spread(msgspec.structs.replace(message, header=number.encode()), None)

    def receive(self, neighbour, message):
        return () if message.header in self._seen else self._spread(message, neighbour)

    def _spread(self, message, source):
        self._seen.add(message.header)
        clients = tuple(dict.fromkeys(client for client, _ in self._subscriptions.match(message)))
        onward = msgspec.structs.replace(message, hops=message.hops + 1)
        return [Deliver(clients, message), *(Send(name, onward) for name in self._context.links if name != source)]


PROTOCOL = Protocol(Flooding, Options)
"""


def written(directory: Path, *change: str, name: str = "flooding.py") -> Path:
    """Writes the file; `change` is a text of it and what stands there instead."""
    if change:
        former, new = change
        assert former in SOURCE
    path = directory / name
    path.write_text(SOURCE.replace(former, new) if change else SOURCE)
    return path
