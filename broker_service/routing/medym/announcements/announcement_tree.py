"""The tree along which announcements are passed on, and the ways round failed servers.

Announcements come before servers know each other's locations, so the tree follows from the servers' numbers alone: it
is the complete tree in which each server has up to `fan_out` children. It has a link less than servers, and a thousand
servers are three links at most from the first one. The paper sends announcements by its own multicast (section 4.2.1),
which needs the locations of all servers.

A server whose neighbour in the tree has failed takes that one's other neighbours in its place, and those of these that
have failed, too, in theirs. So the servers that work remain connected, whichever failed, if both ends of every link see
the same.
"""

from __future__ import annotations

from dataclasses import dataclass

from numpy import bool_
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class AnnouncementTree:
    """The tree over servers that are numbered from 0."""

    servers: int
    """The number of servers."""
    fan_out: int

    def parent(self, server: int) -> int | None:
        """The neighbour towards the root, which is server 0 and has none."""
        return (server - 1) // self.fan_out if server else None

    def neighbours(self, server: int) -> list[int]:
        """The parent, then the children."""
        first = self.fan_out * server + 1
        above = self.parent(server)
        return [*(() if above is None else (above,)), *range(first, min(first + self.fan_out, self.servers))]

    def working_neighbours(self, server: int, failed: NDArray[bool_]) -> set[int]:
        """The neighbours, with those beyond in place of each that has failed.

        `failed` has a place for each server; the server's own is ignored.
        """
        found: set[int] = set()
        seen, waiting = {server}, [server]
        while waiting:
            for neighbour in self.neighbours(waiting.pop()):
                if neighbour not in seen:
                    seen.add(neighbour)
                    (waiting.append if failed[neighbour] else found.add)(neighbour)
        return found
