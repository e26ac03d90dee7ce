"""The mesh of servers: their numbers, on which all of them agree, and distances that are given in advance.

Servers are numbered from 0 in the order of their names. The preparation of a run names all of them to each one, because
servers that numbered their own neighbours would number them differently.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass

import msgspec
import numpy as np

from broker_service.messages import BrokerId
from broker_service.routing.common.distances import MOST_SERVERS, Distances
from broker_service.routing.common.full_mesh import require_full_mesh, round_trips
from broker_service.routing.options import Preparation


class _Prepared(msgspec.Struct, frozen=True, array_like=True):
    """The mesh in `RouterContext.prepared`."""

    servers: tuple[BrokerId, ...]
    distances: bytes = b""
    """Round trips in seconds, as a matrix of 32-bit numbers; empty where servers measure them."""


@dataclass(frozen=True)
class Mesh:
    """Servers that may all communicate directly."""

    servers: tuple[BrokerId, ...]
    """Servers in ascending order: the place of a server is its number."""
    numbers: Mapping[BrokerId, int]
    given: Distances | None
    """Distances that all servers were given; None where servers measure them."""


def prepared_servers(preparation: Preparation) -> bytes:
    """All servers, for the preparation of each router. Raises `ValueError` unless any two of them are linked."""
    return msgspec.msgpack.encode(_Prepared(_servers(preparation)))


def prepared_distances(preparation: Preparation) -> bytes:
    """All servers, and the round trips of the links between them. Raises `ValueError` as `prepared_servers`."""
    servers = _servers(preparation)
    return msgspec.msgpack.encode(_Prepared(servers, round_trips(preparation, _numbers(servers)).tobytes()))


@functools.lru_cache(maxsize=4)
def prepared_mesh(prepared: bytes) -> Mesh:
    """The mesh that was prepared. Servers of one process share it, because it does not change."""
    read = msgspec.msgpack.decode(prepared, type=_Prepared)
    count = len(read.servers)
    matrix = np.frombuffer(read.distances, np.float32).reshape(count, count) if read.distances else None
    return Mesh(read.servers, _numbers(read.servers), None if matrix is None else Distances(matrix))


def _servers(preparation: Preparation) -> tuple[BrokerId, ...]:
    count = len(preparation.brokers)
    if count > MOST_SERVERS:
        raise ValueError(f"it numbers at most {MOST_SERVERS:,} brokers, and there are {count:,}")
    require_full_mesh(preparation)
    return tuple(sorted(preparation.brokers))


def _numbers(servers: tuple[BrokerId, ...]) -> dict[BrokerId, int]:
    return {server: number for number, server in enumerate(servers)}
