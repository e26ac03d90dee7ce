"""A judged publication: what stage 2 hands over to stage 3.

Judged publications travel as pieces of MessagePack: they are lists in lists, which Spark would copy element by element
from one form into another at every step, and stage 3 takes them as objects, one after another. docs/analysis.md has
the measurement.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import merge

import msgspec
import pyarrow as pa

from analysis.engines.arrays import array_of, integers
from analysis.judging.doubt import Doubt
from analysis.judging.trace import Step
from analysis.tables.deliveries import Cause, Right

_DECODED_TOGETHER = 16
"""Publications."""

WAY_UNKNOWN = "its way is unknown, because "
"""Beginning of a sentence on a publication that no broker logged."""


class Receipt(msgspec.Struct, array_like=True, gc=False):
    """One notification of a client."""

    broker: str | None
    notified: int
    position: int
    """In the log of the client's node."""
    hops: int | None
    waited: int | None
    """In output queues; None when the log does not hold the whole path."""
    path: tuple[str, ...] | None


class Duty(msgspec.Struct, array_like=True, gc=False):
    """A subscription by which a client must get a publication if the subscription has started by then."""

    subscription: int
    """Number of the subscription in the variant's history."""
    withdrawn: int
    announced: int
    """The times of its withdrawal and of the latest announcement of its start that covers the publication; `FOREVER`
    for never."""
    due: bool
    """True when nothing but its start is in doubt. Otherwise only a later notification shows that the client must."""
    broker: str | None = None
    """The client's broker. What another one sends a client that moves shows nothing of this one."""


class PublicationOutcome(msgspec.Struct, array_like=True):
    """The outcome of a publication for one client."""

    client: str
    right: Right
    cause: Cause | None
    receipts: list[Receipt]
    """The client's notifications of the publication, in order of time."""
    proves: int | None = None
    """The subscription that a notification proves to have started; None where several may have caused it."""
    broker: str | None = None
    """The client's broker, where it is owed the publication."""
    doubt: Doubt | None = None
    """The reason why it may be without what it is owed, whatever way the publication took; None without any."""
    subscriptions: list[int] = []
    """The numbers of the subscriptions by which it is owed the publication; only where it did not get it."""
    struck: bool = False
    """True when an outage may have cost it the publication, by the overlay, the faults and the promises alone."""
    excuse: str | None = None
    """Evidence by which it is excused that it did not get it, in a few words; found in stage 3."""
    evidence: str | None = None
    """The record, the fault and the promise."""
    not_judged: str | None = None
    """The reason why it cannot be judged that it did not get it."""
    last_seen: str | None = None
    """The last record of a lost publication on the way to the client."""
    doubled: bool = False
    """True where the client got it once from each of two brokers, between which it moved by a handover that may double
    it."""
    handovers: int | None = 0
    """The handovers which may cost the promised order that the client had behind it when it got it first; None where
    nothing tells their number, so that its order is not judged."""
    duties: list[Duty] = []
    """Only of a gapless protocol (`analysis.judging.deliveries.gaps`), where the client may get it and did not."""

    @property
    def is_lost(self) -> bool:
        """True when the client is owed it, did not get it, and nothing excuses that.

        It holds of a weighed outcome (`analysis.judging.evidence.weighing`).
        """
        return self.right is Right.MUST and not (self.receipts or self.excuse or self.not_judged)


class JudgedPublication(msgspec.Struct, array_like=True):
    """One publication in one variant that some client must or may get, or got."""

    variant: int
    publication: str
    publisher: str | None
    intended: int | None
    published: int | None
    position: int
    """In the log of the publisher's node; 0 when no client published it."""
    origin: str | None
    """The publisher's broker."""
    rejected: bool
    seen_last: int
    """The time of its last record."""
    reached: tuple[str, ...]
    """The brokers it arrived at, in the order of links travelled."""
    tree: int | None
    """The number of the advertisement on whose tree it certainly travels."""
    outcomes: list[PublicationOutcome]
    drops: list[str]
    """The brokers that dropped copies of it, and their reasons; only where it was lost for some client."""
    paths: list[tuple[str, ...]]
    """The paths it took, as far as each goes; only where it was lost for some client."""
    steps: list[Step]
    """The records of its copies, in order of time; only where it was lost for some client."""
    logged: bool = True
    """False where brokers logged a sample of publications without it; `reached` and `paths` are empty then."""


JUDGED_PARTS = pa.schema([pa.field("bucket", pa.int32(), nullable=False), ("pieces", pa.list_(pa.binary()))])
"""The publications that one bucket of stage 2 has for one bucket of publishers, in order; a piece has some of them."""


def judged_parts(buckets: Sequence[list[JudgedPublication]]) -> pa.Table:
    """A part for each bucket of publishers that has publications. Sorts them."""
    filled = [number for number, judged in enumerate(buckets) if judged]
    pieces = array_of([_pieces(buckets[number]) for number in filled], JUDGED_PARTS.field("pieces").type)
    return pa.table([integers(filled, pa.int32()), pieces], schema=JUDGED_PARTS)


def _pieces(judged: list[JudgedPublication]) -> list[bytes]:
    judged.sort(key=_latest_first)
    encode = msgspec.msgpack.Encoder().encode
    return [encode(judged[start : start + _DECODED_TOGETHER]) for start in range(0, len(judged), _DECODED_TOGETHER)]


def decode_judged(parts: pa.Table) -> Iterator[JudgedPublication]:
    """The publications in parts of one bucket: by variant and publisher, the latest publication of a publisher first.

    A few publications of each part are objects at a time, however large the bucket is.
    """
    decoded = [_decoded(part.values) for part in parts.column("pieces")]
    return decoded[0] if len(decoded) == 1 else merge(*decoded, key=_latest_first)


def _decoded(pieces: pa.BinaryArray) -> Iterator[JudgedPublication]:
    decoder = msgspec.msgpack.Decoder(list[JudgedPublication])
    for piece in pieces:
        yield from decoder.decode(piece.as_buffer())


def _latest_first(judged: JudgedPublication) -> tuple[int, str, int, int, str]:
    return (
        judged.variant,
        judged.publisher or "",
        -(judged.published or 0),
        -judged.position,
        judged.publication,
    )
