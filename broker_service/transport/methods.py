"""Names on the wire: the methods of proto/broker.proto, addresses, and the encoding of messages."""

from __future__ import annotations

from typing import NamedTuple

UNIX = "unix:"
"""Prefix of an address that is the path of a Unix socket; any other is `host:port`."""

IDENTITY = "identity"
"""The encoding of messages that are not compressed, the only one that brokers and clients take: a small message must
not unpack to a large one."""


class Method(NamedTuple):
    """A method of a gRPC service."""

    service: str
    name: str

    @property
    def path(self) -> str:
        return f"/{self.service}/{self.name}"


LINK = Method("brokerlab.v1.BrokerLink", "Link")
SESSION = Method("brokerlab.v1.BrokerClient", "Session")
