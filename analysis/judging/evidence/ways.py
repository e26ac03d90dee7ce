"""The ways of publications between two brokers: the elements of the overlay that a publication passes.

An element is a broker, or one direction of a link (`A->B`). The judge does not know how a protocol routes. It knows

1. the ways that notifications took in this run, from the records of brokers on them; and
2. the overlay: a publication can only pass elements that lie on some simple path between the two brokers. These are
   the blocks on the path between them in the overlay's block-cut tree.

An element is `CERTAIN` where every way that was seen passes it, `USUAL` where some do, and `IMAGINABLE` where the
overlay alone allows it. Between brokers without a single notification whose way is known, every imaginable element is
certain, because nothing contradicts it; so it is in an overlay that changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from itertools import pairwise
from typing import Self

import msgspec
import networkx as nx

from analysis.tables.totals import FirstRows
from topology.link_properties import BrokerId
from topology.model import MeshLinks, Overlay

Ends = tuple[BrokerId, BrokerId]
"""The publisher's and the subscriber's broker."""
Elements = frozenset[str]

_MOST_WAYS = 64
"""Number of different ways between two brokers that are kept; further ways hardly add an element."""


class Passing(IntEnum):
    """The certainty with which publications from one broker to another pass an element, which is a broker or a link."""

    NEVER = 0
    IMAGINABLE = 1
    USUAL = 2
    CERTAIN = 3


class Way(msgspec.Struct, frozen=True):
    """A way that notifications took."""

    variant: int
    origin: BrokerId
    """The publisher's broker."""
    target: BrokerId
    """The subscriber's broker."""
    path: tuple[BrokerId, ...]
    """The brokers from the origin to the target, both included."""

    @classmethod
    def of(cls, variant: int, path: tuple[BrokerId, ...]) -> Self:
        return cls(variant, path[0], path[-1], path)


def first_ways() -> FirstRows[Way]:
    """No ways yet. The first by name are kept, so that they do not depend on the order of notifications."""
    return FirstRows(Way, _MOST_WAYS, ("variant", "origin", "target"), ("path",))


def taken_in(variant: int, ways: Iterable[Way]) -> Mapping[Ends, Sequence[Elements]]:
    """The elements of each way of one variant."""
    found: dict[Ends, list[Elements]] = {}
    for way in ways:
        if way.variant == variant:
            found.setdefault((way.origin, way.target), []).append(elements_of(way.path))
    return found


@dataclass(frozen=True, slots=True)
class Ways:
    """The ways in one variant's overlay."""

    overlay: Overlay
    """With all links that it ever has."""
    taken: Mapping[Ends, Sequence[Elements]] = field(default_factory=dict)
    changes: bool = False
    """True of an overlay that changes."""
    _known: dict[Ends, tuple[Elements, Elements]] = field(default_factory=dict, repr=False, compare=False)
    """Certain elements and usual ones, by ends."""
    _imagined: dict[Ends, frozenset[BrokerId] | None] = field(default_factory=dict, repr=False, compare=False)
    _blocks: list[nx.Graph[str]] = field(default_factory=list, repr=False, compare=False)
    """The block-cut tree, once it is needed."""

    def passing(self, origin: BrokerId | None, target: BrokerId | None, element: str) -> Passing:
        """The certainty that publications from one broker to another pass an element. Unknown ends may be anywhere."""
        if origin is None or target is None or self.changes:
            return Passing.CERTAIN
        ends = origin, target
        if ends in self.taken:
            certain, usual = self._taken(ends)
            if element in certain:
                return Passing.CERTAIN
            if element in usual:
                return Passing.USUAL
            return Passing.IMAGINABLE if self._imaginable(ends, element) else Passing.NEVER
        return Passing.CERTAIN if self._imaginable(ends, element) else Passing.NEVER

    def were_seen(self, origin: BrokerId | None, target: BrokerId | None) -> bool:
        """True when notifications tell the ways from one broker to another, or where the overlay changes, so that none
        is asked for."""
        return self.changes or origin is None or target is None or (origin, target) in self.taken

    def _taken(self, ends: Ends) -> tuple[Elements, Elements]:
        found = self._known.get(ends)
        if found is None:
            ways = self.taken[ends]
            found = self._known[ends] = frozenset.intersection(*ways), frozenset.union(*ways)
        return found

    def _imaginable(self, ends: Ends, element: str) -> bool:
        brokers = self._on_simple_paths(ends)
        source, arrow, target = element.partition("->")
        if brokers is None:
            return True
        return source in brokers and (not arrow or target in brokers)

    def _on_simple_paths(self, ends: Ends) -> frozenset[BrokerId] | None:
        """The brokers on simple paths between two brokers; None for all, in a full mesh."""
        if isinstance(self.overlay.links, MeshLinks):
            return None
        if ends not in self._imagined:
            self._imagined[ends] = self._between(*ends)
        return self._imagined[ends]

    def _between(self, origin: BrokerId, target: BrokerId) -> frozenset[BrokerId]:
        if origin == target:
            return frozenset((origin,))
        if not self._blocks:
            self._blocks.append(_block_cut_tree(self.overlay))
        path = nx.shortest_path(self._blocks[0], f"broker {origin}", f"broker {target}")
        blocks = (self._blocks[0].nodes[node]["brokers"] for node in path if not node.startswith("broker "))
        return frozenset((origin, target)).union(*blocks)


def elements_of(path: Sequence[BrokerId]) -> Elements:
    """The brokers and the directions of links on a path."""
    return frozenset((*path, *(f"{a}->{b}" for a, b in pairwise(path))))


def _block_cut_tree(overlay: Overlay) -> nx.Graph[str]:
    """The graph of brokers and blocks, each broker adjacent to the blocks that it is in."""
    links: nx.Graph[str] = nx.Graph()
    links.add_nodes_from(broker.id for broker in overlay.brokers)
    links.add_edges_from((link.a, link.b) for link in overlay.links)
    tree: nx.Graph[str] = nx.Graph()
    tree.add_nodes_from(f"broker {broker.id}" for broker in overlay.brokers)
    for number, brokers in enumerate(nx.biconnected_components(links)):
        tree.add_node(f"block {number}", brokers=frozenset(brokers))
        tree.add_edges_from((f"block {number}", f"broker {broker}") for broker in brokers)
    return tree
