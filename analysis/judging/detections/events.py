"""Everything about one composite subscription that stage 2 hands over to stage 3, and its encoding.

Stage 3 takes the events of one client's composite subscription at a time, in the order of their stamps. A bucket may
have many more of them than fit in memory as objects, so they travel in pieces of MessagePack, and are decoded a few at
a time, as often as they are wanted.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from heapq import merge
from operator import attrgetter
from typing import Any, Generic, NamedTuple, TypeVar
from zlib import crc32

import msgspec
import pyarrow as pa

from analysis.engines.arrays import array_of
from analysis.judging.histories.history import History
from analysis.judging.rights.composite_rights import PartMatch
from analysis.reading.detections import DetectionLoss, MadeDetection, NotifiedDetection
from analysis.reading.event_table import EventTable
from analysis.reading.publication_events import Published
from analysis.tables.totals import Rows, Sum

NOT_PUBLISHED = -1
"""The stamp of an event whose publication no client made."""
_DECODED_TOGETHER = 256
"""Events."""


class CompositeName(NamedTuple):
    """The events of a composite subscription have this in common, whatever patterns it has one after another."""

    variant: int
    client: str
    name: str
    """The client's own."""


class PlacedDetection(msgspec.Struct, array_like=True, gc=False):
    """A notification, at the stamp of the publication that it lists last."""

    stamp: int
    publication: str
    detection: NotifiedDetection


class PlacedLoss(msgspec.Struct, array_like=True, gc=False):
    """A loss that a broker recorded, at the stamp of its publication."""

    stamp: int
    publication: str
    loss: DetectionLoss


class PlacedMade(msgspec.Struct, array_like=True, gc=False):
    """A detection that a broker made, at the stamp of the publication that it lists last."""

    stamp: int
    publication: str
    made: MadeDetection


CompositeEvent = PartMatch | PlacedLoss | PlacedMade | PlacedDetection

_Event = TypeVar("_Event", PartMatch, PlacedLoss, PlacedMade, PlacedDetection)


_PIECES = pa.list_(pa.binary())
COMPOSITE_PARTS = pa.schema(
    [
        pa.field("bucket", pa.int32(), nullable=False),
        ("variant", pa.int64()),
        ("client", pa.string()),
        ("name", pa.string()),
        ("matches", _PIECES),
        ("losses", _PIECES),
        ("made", _PIECES),
        ("detections", _PIECES),
    ]
)
"""The events of one composite subscription in one bucket of stage 2, each kind sorted, in pieces that are decoded one
by one."""


class _Run(NamedTuple):
    """The pieces in a row of `COMPOSITE_PARTS`."""

    matches: pa.BinaryArray
    losses: pa.BinaryArray
    made: pa.BinaryArray
    detections: pa.BinaryArray


class PartOfComposite(msgspec.Struct):
    """A part of a composite subscription in one of its lifetimes."""

    variant: int
    lifetime: int
    """Number of the lifetime in the variant's history."""
    leaf: int
    """The number of the part."""
    matches: Sum = 0
    """Publications that match it."""


class _EncodedEvents(Generic[_Event]):
    """Events of one kind, encoded as they come, because objects would take several times the memory."""

    def __init__(self) -> None:
        self._stamps = array("q")
        self._publications: list[str] = []
        self._encoded: list[msgspec.Raw] = []

    def add(self, event: _Event) -> None:
        self._stamps.append(event.stamp)
        self._publications.append(event.publication)
        self._encoded.append(msgspec.Raw(_encoder.encode(event)))

    def pieces(self) -> list[bytes]:
        """The events in the order of stamps and publications, some in each piece."""
        keys = list(zip(self._stamps, self._publications, strict=True))
        in_order = [self._encoded[place] for place in sorted(range(len(keys)), key=keys.__getitem__)]
        starts = range(0, len(in_order), _DECODED_TOGETHER)
        return [_encoder.encode(in_order[start : start + _DECODED_TOGETHER]) for start in starts]


@dataclass(slots=True)
class _Events:
    """The events of one composite subscription."""

    matches: _EncodedEvents[PartMatch] = field(default_factory=_EncodedEvents)
    losses: _EncodedEvents[PlacedLoss] = field(default_factory=_EncodedEvents)
    made: _EncodedEvents[PlacedMade] = field(default_factory=_EncodedEvents)
    detections: _EncodedEvents[PlacedDetection] = field(default_factory=_EncodedEvents)


class CompositeEventCollector:
    """Collects the events of a bucket of publications by composite subscription."""

    def __init__(self, table: EventTable) -> None:
        """`table` has the events of the bucket; the stamps of its detections are found as publications are added."""
        self.parts_matched = Rows(PartOfComposite)
        self._lifetimes: dict[tuple[int, int], _EncodedEvents[PartMatch]] = {}
        """The matches of a composite subscription, in whatever lifetimes, by variant and number of one of these."""
        self._events: defaultdict[CompositeName, _Events] = defaultdict(_Events)
        self._table = table
        named: list[NotifiedDetection | DetectionLoss | MadeDetection] = [
            *table.detections,
            *table.detection_losses,
            *table.made_detections,
        ]
        self._stamps = {(event.variant, event.last): NOT_PUBLISHED for event in named}
        """Stamps by variant and publication, of publications that detections and losses name."""

    def add(self, published: Published, matches: Iterable[PartMatch], history: History) -> None:
        """Adds a publication with its matches, and the history of its variant."""
        variant = published.variant
        if (variant, published.publication) in self._stamps:
            self._stamps[variant, published.publication] = published.time
        for match in matches:
            events = self._lifetimes.get((variant, match.lifetime))
            if events is None:
                made = history.lifetimes[match.lifetime]
                events = self._events[CompositeName(variant, made.client, made.name)].matches
                self._lifetimes[variant, match.lifetime] = events
            events.add(match)
            for leaf in match.leaves:
                self.parts_matched.of(variant, match.lifetime, leaf).matches += 1

    def parts(self, buckets: int) -> pa.Table:
        """The events of each composite subscription, in this number of buckets."""
        for detection in self._table.detections:
            composite = CompositeName(detection.variant, detection.client, detection.composite)
            stamp = self._stamps[detection.variant, detection.last]
            self._events[composite].detections.add(PlacedDetection(stamp, detection.last, detection))
        for made in self._table.made_detections:
            composite = CompositeName(made.variant, made.client, made.composite)
            stamp = self._stamps[made.variant, made.last]
            self._events[composite].made.add(PlacedMade(stamp, made.last, made))
        for loss in self._table.detection_losses:
            composite = CompositeName(loss.variant, loss.client, loss.composite)
            stamp = self._stamps[loss.variant, loss.last]
            self._events[composite].losses.add(PlacedLoss(stamp, loss.last, loss))
        numbered = sorted((_bucket_of(composite, buckets), composite) for composite in self._events)
        in_order = [self._events[composite] for _, composite in numbered]
        columns: dict[str, list[Any]] = {
            "bucket": [bucket for bucket, _ in numbered],
            "variant": [composite.variant for _, composite in numbered],
            "client": [composite.client for _, composite in numbered],
            "name": [composite.name for _, composite in numbered],
            "matches": [events.matches.pieces() for events in in_order],
            "losses": [events.losses.pieces() for events in in_order],
            "made": [events.made.pieces() for events in in_order],
            "detections": [events.detections.pieces() for events in in_order],
        }
        return pa.table(
            [array_of(columns[field.name], field.type) for field in COMPOSITE_PARTS], schema=COMPOSITE_PARTS
        )


def _bucket_of(composite: CompositeName, buckets: int) -> int:
    return crc32(f"{composite.variant}/{composite.client}/{composite.name}".encode()) % buckets


class CompositeEventReader:
    """The events of a bucket of composite subscriptions."""

    def __init__(self, parts: pa.Table) -> None:
        """`parts` are rows of `COMPOSITE_PARTS`, in any order."""
        self._runs: defaultdict[CompositeName, list[_Run]] = defaultdict(list)
        names = (parts.column(name).to_pylist() for name in ("variant", "client", "name"))
        kinds = (parts.column(name) for name in _Run._fields)
        for name, run in zip(zip(*names, strict=True), zip(*kinds, strict=True), strict=True):
            self._runs[CompositeName(*name)].append(_Run(*(pieces.values for pieces in run)))

    def __iter__(self) -> Iterator[CompositeName]:
        """The composite subscriptions, in order."""
        return iter(sorted(self._runs))

    def events(self, composite: CompositeName) -> Iterator[CompositeEvent]:
        """The events of a composite subscription, in the order of stamps and publications. A match comes before what is
        known of the same publication besides."""
        runs = self._runs[composite]
        return merge(
            *(_decoded(run.matches, _matches) for run in runs),
            *(_decoded(run.losses, _losses) for run in runs),
            *(_decoded(run.made, _made) for run in runs),
            *(_decoded(run.detections, _detections) for run in runs),
            key=_order,
        )

    def matches(self, composite: CompositeName) -> Iterator[PartMatch]:
        """The matches of a composite subscription, in any order."""
        for run in self._runs[composite]:
            yield from _decoded(run.matches, _matches)


_encoder = msgspec.msgpack.Encoder()
_matches = msgspec.msgpack.Decoder(list[PartMatch])
_losses = msgspec.msgpack.Decoder(list[PlacedLoss])
_made = msgspec.msgpack.Decoder(list[PlacedMade])
_detections = msgspec.msgpack.Decoder(list[PlacedDetection])


def _decoded(pieces: pa.BinaryArray, decoder: msgspec.msgpack.Decoder[list[_Event]]) -> Iterator[_Event]:
    for piece in pieces:
        yield from decoder.decode(piece.as_buffer())


_order = attrgetter("stamp", "publication")
"""The sort key. Merging keeps the order of the merged for equal keys."""
