"""The broker.json that the kit gives to brokers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

HEARTBEAT = 0.5
"""Seconds. Neighbours notice the failure of a broker or a link within three of them, which keeps cases short."""
RECONNECT_LAST = 0.2
MESSAGE_BYTES = 1 << 20
STOP_WITHIN = 2.0

CONTRACT = 1


@dataclass(frozen=True, slots=True)
class LinkEnd:
    """One end of a link, at the broker that is configured."""

    neighbour: str
    local: str
    remote: str
    dial: bool

    def fields(self) -> Mapping[str, object]:
        """The object in `links`."""
        return {
            "neighbour": self.neighbour, "local": self.local, "remote": self.remote, "dial": self.dial,
            "attributes": {}, "appearance": 1,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Configuration:
    """The configuration of one start of a broker."""

    id: str
    socket: str
    """Path of its socket, as the broker sees it."""
    protocol: str = "foreign"
    incarnation: int = 1
    links: Sequence[LinkEnd] = ()
    log: str = ""
    stored: str = ""
    further: Mapping[str, Any] = field(default_factory=dict)
    """Fields that are added, or take the place of others."""

    def restarted(self) -> Self:
        """The configuration of the next incarnation."""
        return replace(self, incarnation=self.incarnation + 1)

    def text(self) -> str:
        """The file's content."""
        fields: dict[str, Any] = {
            "contract": CONTRACT,
            "id": self.id,
            "incarnation": self.incarnation,
            "protocol": self.protocol,
            "options": {},
            "attributes": {},
            "listen": [f"unix:{self.socket}"],
            "links": [link.fields() for link in self.links],
            "log": self.log,
            "stored": self.stored,
            "variant": "base",
            "seed": 0,
            "limits": {
                "heartbeat": HEARTBEAT,
                "reconnect_first": 0.05,
                "reconnect_last": RECONNECT_LAST,
                "message_bytes": MESSAGE_BYTES,
                "stop_within": STOP_WITHIN,
            },
        }
        return json.dumps(fields | dict(self.further), indent=2)
