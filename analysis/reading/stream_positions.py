"""Positions of notifications in streams, in the order in which clients got them.

A routing protocol may give each publication a stream and a position in it, the same for all clients. Then two clients
get two publications of a stream in the same order, whichever clients published them, if no client gets a position
after a later one from one broker. From its next broker a client that moves may get what it has got before. The
positions are kept at eight bytes each, because a piece of a log does not hold earlier ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

import numpy as np

from analysis.reading.stays import NO_STAYS, Stays
from analysis.tables.totals import Series


class StreamPiece(NamedTuple):
    """A stream as one client got it in one variant, in one block of a log."""

    variant: int
    client: str
    broker: str
    """The broker that notified the client, which is another one after a move."""
    stream: str
    file: str
    offset: int
    """Byte of the file at which the block begins."""


@dataclass(frozen=True, slots=True, order=True)
class Fall:
    """A notification that came after one of a later position."""

    client: str
    stream: str
    position: int
    later: int
    """The highest position that came before it."""


class StreamPositions(Series[StreamPiece]):
    """All positions of a run."""

    def __init__(self) -> None:
        super().__init__(StreamPiece)

    def falls(self, variant: int, stays: Stays = NO_STAYS) -> Iterator[Fall]:
        """The notifications of a variant that came too late, by client, broker and stream, in order. Left out is what a
        client got from a broker with which it had two sessions at once, because positions do not tell over which."""
        pieces = sorted(piece for piece in self.by_key if piece.variant == variant)
        for (client, broker, stream), got in groupby(pieces, lambda piece: (piece.client, piece.broker, piece.stream)):
            if broker in stays.with_two_sessions(client):
                continue
            positions = np.concatenate([np.frombuffer(self.by_key[piece], dtype=np.int64) for piece in got])
            highest = np.maximum.accumulate(positions)
            for place in np.flatnonzero(positions < highest).tolist():
                yield Fall(client, stream, int(positions[place]), int(highest[place]))
