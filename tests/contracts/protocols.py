"""The routers that prove the contract of routing protocols, as protocols that brokers of every runtime know.

None is a product: they are registered for tests alone. `python -m tests.contracts.protocols CONFIG.json` runs a broker
process that knows them.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, cast
from unittest import mock

from broker_service.grpc_shell.server import main
from broker_service.routing.declaration import Protocol
from broker_service.routing.interface import Router, RouterContext
from broker_service.routing.registry import PROTOCOLS
from tests.contracts.routers.gossip import GossipOptions, GossipRouter
from tests.contracts.routers.mesh_unicast import MeshUnicastOptions, MeshUnicastRouter
from tests.contracts.routers.reliable_flooding import ReliableFloodingOptions, ReliableFloodingRouter

RELIABLE_FLOODING, MESH_UNICAST, GOSSIP = "reliable-flooding", "mesh-unicast", "gossip"

CONTRACT_PROTOCOLS: Mapping[str, Protocol] = {
    RELIABLE_FLOODING: Protocol(ReliableFloodingRouter, ReliableFloodingOptions),
    MESH_UNICAST: Protocol(MeshUnicastRouter, MeshUnicastOptions),
    GOSSIP: Protocol(GossipRouter, GossipOptions),
}


@contextlib.contextmanager
def registered() -> Iterator[None]:
    """Makes the protocols known."""
    with mock.patch.dict(cast(dict[str, Protocol], PROTOCOLS), CONTRACT_PROTOCOLS):
        yield


@contextlib.contextmanager
def in_place_of(name: str, router: Callable[[RouterContext[Any]], Router]) -> Iterator[None]:
    """Makes the protocols known, one of them with another router."""
    with registered():
        broken = {name: replace(CONTRACT_PROTOCOLS[name], router=router)}
        with mock.patch.dict(cast(dict[str, Protocol], PROTOCOLS), broken):
            yield


if __name__ == "__main__":
    with registered():
        sys.exit(main())
