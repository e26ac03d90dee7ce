"""Decisions of a server: to which neighbours a publication goes, and with which destination list each.

1. A server that gets a list splits it by its multicast function (`multicast`). One that gets a tree follows the tree.
2. Destinations that cannot be reached are taken out of a list, which is split without them (section 3.1.3). So is the
   part of a tree whose next hop cannot be reached. The copy for such a destination, with a list of itself alone, waits
   for the link: if the destination was restarted, the link drops it, and if only the link failed, nothing is lost. With
   `failed_hops: await` trees stay as they are, and so the whole part waits.
3. The same list gets the same decision until this server learns of other distances, loads or failures. So decisions are
   kept (section 4.1.1), by the bytes of the list as it came.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from broker_service.messages import BrokerId
from broker_service.routing.common.distances import Distances, Servers
from broker_service.routing.common.spanning_tree import spanning_tree
from broker_service.routing.medym.locations.round_trips import KnownLocations
from broker_service.routing.medym.mesh import Mesh
from broker_service.routing.medym.multicast.destination_lists import (
    Tree,
    as_rerouted,
    decode,
    destinations,
    encode_list,
    encode_tree,
    is_rerouted,
    tree_of,
)
from broker_service.routing.medym.multicast.routing_functions import Multicast, balanced_mst, close_mst, mst
from broker_service.routing.medym.options import MedymOptions

Split = Callable[[Distances, int, Servers], Iterable[tuple[int, bytes]]]
"""Function that splits a list: it takes distances, a server and the destinations that the server is responsible for,
and returns next hops and the headers that they get."""


class Copy(NamedTuple):
    """A copy of a publication."""

    neighbour: BrokerId
    header: bytes


class Decisions:
    """The decisions of one server."""

    def __init__(self, options: MedymOptions, mesh: Mesh, own: int, locations: KnownLocations) -> None:
        """`own` is this server's number."""
        self._mesh = mesh
        self._own = own
        self._locations = locations
        self._reachable = np.ones(len(mesh.servers), np.bool_)
        self._overloaded = np.zeros(len(mesh.servers), np.bool_)
        self._reroutes = options.reroutes
        self._split = _split_of(options, self._overloaded)
        self._most = options.cached_decisions
        self._cache: dict[bytes, Sequence[Copy]] = {}

    def copies(self, header: bytes) -> Sequence[Copy]:
        """The copies that this server makes of a publication with this header.

        Raises `MalformedMessageError` for a header that no correct neighbour sends here.
        """
        found = self._cache.get(header)
        if found is None:
            names = self._mesh.servers
            found = tuple(Copy(names[hop], onward) for hop, onward in self._decided(header))
            if is_rerouted(header):
                found = tuple(Copy(hop, as_rerouted(onward)) for hop, onward in found)
            if self._most:
                if len(self._cache) >= self._most:
                    del self._cache[next(iter(self._cache))]
                self._cache[header] = found
        return found

    def first_copies(self, responsible: Servers) -> Sequence[Copy]:
        """The copies that the publication server makes. It is among the servers in the list, as later receivers are."""
        return self.copies(encode_list(responsible))

    def rerouted(self, header: bytes) -> Sequence[Copy]:
        """The copies in place of one that a neighbour did not take."""
        servers = destinations(header)
        place = int(np.searchsorted(servers, self._own))
        return self.copies(as_rerouted(encode_list(np.insert(servers, place, self._own))))

    def set_reachable(self, server: int, reachable: bool) -> None:
        """The link to a server works, or does not."""
        self._change(self._reachable, server, reachable)

    def reaches(self, server: int) -> bool:
        """True when the link to a server works."""
        return bool(self._reachable[server])

    def set_overloaded(self, server: int, overloaded: bool) -> None:
        """A server is overloaded, or is so no more."""
        self._change(self._overloaded, server, overloaded)

    def forget(self) -> None:
        """Distances have changed."""
        self._cache.clear()

    def _change(self, flags: NDArray[np.bool_], server: int, flag: bool) -> None:
        if flags[server] != flag:
            flags[server] = flag
            self._cache.clear()

    def _decided(self, header: bytes) -> Iterator[tuple[int, bytes]]:
        listed = decode(header, self._own, len(self._mesh.servers))
        if not isinstance(listed, Tree):
            yield from self._splits(listed)
            return
        for branch in listed.branches():
            if self._reachable[branch.root] or not self._reroutes:
                yield branch.root, encode_tree(branch)
            else:
                yield from self._splits(np.sort(branch.servers))

    def _splits(self, listed: Servers) -> Iterator[tuple[int, bytes]]:
        reachable = self._reachable[listed]
        if self._reroutes and not reachable.all():
            for waiting in listed[~reachable]:
                yield int(waiting), encode_list(np.array([waiting]))
            listed = listed[reachable]
        if len(listed):
            yield from self._split(self._locations.distances, self._own, listed)


def _split_of(options: MedymOptions, overloaded: NDArray[np.bool_]) -> Split:
    """The split that the options choose; it reads loads whenever it is called."""
    if options.algorithm == "source":
        return _by_tree
    multicast: Multicast = mst
    if options.algorithm == "close":
        multicast = partial(close_mst, candidates=options.candidates)
    elif options.algorithm == "balanced":
        multicast = partial(balanced_mst, overloaded=overloaded, candidates=options.candidates)
    return partial(_by_lists, multicast)


def _by_lists(multicast: Multicast, distances: Distances, server: int, listed: Servers) -> Iterator[tuple[int, bytes]]:
    for next_hop, branch in multicast(distances, server, listed):
        yield next_hop, encode_list(branch)


def _by_tree(distances: Distances, server: int, listed: Servers) -> Iterator[tuple[int, bytes]]:
    for branch in tree_of(spanning_tree(distances.ranks, server, listed), server).branches():
        yield branch.root, encode_tree(branch)
