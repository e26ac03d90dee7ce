"""Passing on of announcements: to which neighbours in the tree, and which of them together.

1. The neighbours are those in the tree, with others in place of those that have failed (`announcement_tree`), and the
   *guests*: servers that have taken this one for their neighbour.
2. An announcement goes to the parent unless it came from there. To all other neighbours goes one and the same bundle,
   although each may find announcements in it that it has sent itself, because these are few, and one bundle is made and
   read with less work than one for each neighbour.
3. Two servers that become neighbours, or whose link comes up, exchange the versions that they have, and each sends the
   states that the other lacks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from typing import Final, NamedTuple

import numpy as np

from broker_service.routing.medym.announcements.announcement_tree import AnnouncementTree
from broker_service.routing.medym.messages import Announcement, Bundle

MOST_BUNDLED: Final = 64 << 10
"""Bytes of the announcements in a bundle, about, so that it fits into a frame; a single one may be larger."""


class Addressed(NamedTuple):
    """A bundle and the neighbours that it goes to."""

    neighbours: list[int]
    bundle: Bundle


class Neighbours(NamedTuple):
    """Servers that have become neighbours, and such that are neighbours no more."""

    joined: Set[int]
    parted: Set[int]


_SAME_NEIGHBOURS: Final = Neighbours(frozenset(), frozenset())


class Relay:
    """The announcements that wait to be passed on, and the neighbours that they go to."""

    def __init__(self, own: int, tree: AnnouncementTree) -> None:
        """`own` is this server's number."""
        self._own = own
        self._tree = tree
        self._parent = tree.parent(own)
        self._failed = np.zeros(tree.servers, np.bool_)
        self._chosen = tree.working_neighbours(own, self._failed)
        self._guests: dict[int, None] = {}
        self.waiting: list[Announcement] = []
        """Announcements that wait to be passed on."""
        self._upwards: list[Announcement] = []
        """Waiting announcements that did not come from the parent."""

    @property
    def neighbours(self) -> set[int]:
        """Numbers of the servers to which announcements go."""
        return self._chosen | self._guests.keys()

    def set_failed(self, server: int, failed: bool) -> Neighbours:
        """Takes note that a link has failed, or works again. Returns the neighbours that this server chooses anew."""
        had_failed, self._failed[server] = bool(self._failed[server]), failed
        if failed:
            self._guests.pop(server, None)
        if failed == had_failed or (failed and server not in self._chosen):
            return _SAME_NEIGHBOURS  # nearly always in a mesh, where most links are outside of the tree
        former, self._chosen = self._chosen, self._tree.working_neighbours(self._own, self._failed)
        return Neighbours(self._chosen - former, former - self._chosen - {server})

    def admit(self, server: int) -> None:
        """Takes a server for a neighbour, because it does so, too."""
        if server not in self._chosen:
            self._guests[server] = None

    def dismiss(self, server: int) -> None:
        """Takes a server for a guest no more."""
        self._guests.pop(server, None)

    def add(self, announcement: Announcement, source: int) -> None:
        """Takes an announcement that came from a server, which may be this one."""
        self.waiting.append(announcement)
        if source != self._parent:
            self._upwards.append(announcement)

    def bundles(self) -> Iterator[Addressed]:
        """Takes all waiting announcements, in bundles with the neighbours that they go to."""
        waiting, upwards = self.waiting, self._upwards
        self.waiting, self._upwards = [], []
        above, neighbours = self._parent, self.neighbours
        if above is not None and above in neighbours:
            neighbours.discard(above)
            yield from (Addressed([above], bundle) for bundle in bundled(upwards))
        if neighbours:
            others = sorted(neighbours)
            yield from (Addressed(others, bundle) for bundle in bundled(waiting))


def bundled(announcements: Iterable[Announcement]) -> Iterator[Bundle]:
    """Announcements in bundles of a limited size, in their order."""
    bundle: list[Announcement] = []
    held = 0
    for announcement in announcements:
        size = announcement.size
        if bundle and held + size > MOST_BUNDLED:
            yield Bundle(tuple(bundle))
            bundle, held = [], 0
        bundle.append(announcement)
        held += size
    if bundle:
        yield Bundle(tuple(bundle))
