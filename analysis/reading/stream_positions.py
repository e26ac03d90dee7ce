"""Positions of notifications in streams, in the order in which clients got them.

A routing protocol may give each publication a stream and a position in it, the same for all clients. Then two clients
get two publications of a stream in the same order, whichever clients published them, if no client gets a position
after a later one. The positions are kept at eight bytes each, because a piece of a log does not hold earlier ones.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np


class ClientStream(NamedTuple):
    """A stream as one client got it, in one variant."""

    variant: int
    client: str
    stream: str


@dataclass(frozen=True, slots=True, order=True)
class Fall:
    """A notification that came after one of a later position."""

    client: str
    stream: str
    position: int
    later: int
    """The highest position that came before it."""


@dataclass(slots=True)
class StreamPositions:
    """All positions of a run."""

    of: dict[ClientStream, dict[tuple[str, int], array[int]]] = field(default_factory=dict)
    """The positions in each block of a log, by its file and its offset there."""

    def add(self, got: ClientStream, block: tuple[str, int], position: int) -> None:
        self.of.setdefault(got, {}).setdefault(block, array("q")).append(position)

    def merge(self, other: StreamPositions) -> None:
        for got, blocks in other.of.items():
            self.of.setdefault(got, {}).update(blocks)

    def falls(self, variant: int) -> Iterator[Fall]:
        """The notifications of a variant that came too late, by client and stream, in the order of notification."""
        for got, blocks in sorted(self.of.items()):
            if got.variant != variant:
                continue
            positions = np.concatenate([np.frombuffer(blocks[block], dtype=np.int64) for block in sorted(blocks)])
            highest = np.maximum.accumulate(positions)
            for place in np.flatnonzero(positions < highest).tolist():
                yield Fall(got.client, got.stream, int(positions[place]), int(highest[place]))
