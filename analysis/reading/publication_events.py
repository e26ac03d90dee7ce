"""Log events of publications as columns of numbers, small enough to be moved and kept by the million.

1. Stage 1 makes one *block* for each bucket of publications, with the events in parallel lists (`EVENT_BLOCKS`).
2. The fields that many events have in common are their *place*, which an event gives by number.
3. All events of a publication are in one bucket, whichever log they come from. Stage 2 takes one bucket at a time
   (`analysis.reading.event_table`) and assembles the journey of each publication.
4. Detections are in the bucket of the publication that was made last.

Times are nanoseconds of the run's clock; `variant` is the variant's number in the manifest.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from enum import IntEnum
from typing import Any, TypeVar
from zlib import crc32

import msgspec
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from analysis.engines.arrays import array_of, integers, lists
from analysis.reading.detections import DetectionLoss, MadeDetection, NotifiedDetection
from analysis.reading.message_keys import bucket_of_key, publication_key
from analysis.tables.schema import arrow_schema
from record.digests import encode_content
from record.log import Event, TraceRecord
from record.time_units import MILLISECOND

Value = int | float | str
"""The value of a publication's attribute."""

_Place = TypeVar("_Place", bound=msgspec.Struct)

UNKNOWN = -(1 << 63)
"""Stands for a number that a record does not have."""


class Column(IntEnum):
    """The numbers of an event."""

    PLACE = 0
    PUBLICATION = 1
    TIME = 2
    HOPS = 3
    DURATION = 4
    """Nanoseconds of the router's work, comparisons included, for `received`; of the wait in the output queue, for
    `sent`; of the comparison, for `matched`."""
    POSITION = 5
    """In the log, which orders events of the same moment of virtual time. Positions grow along a file, because a block
    has more bytes than lines."""


_COLUMNS = len(Column)


class Place(msgspec.Struct, array_like=True, frozen=True):
    """The fields that many events of publications have in common."""

    variant: int
    event: Event
    """One of `PLACED`."""
    broker: str | None = None
    """The broker that received, sent, compared or dropped the publication, or that of the client."""
    neighbour: str | None = None
    """The broker from which a publication was `received`, None where it came from the publisher; the broker to which it
    was `sent`, or for which it was `dropped`."""
    client: str | None = None
    """The client that was `notified`, or to which it was `delivered`."""
    reason: str | None = None
    """The reason for which it was `dropped`."""


PLACED = frozenset(
    {
        Event.RECEIVED,
        Event.SENT,
        Event.MATCHED,
        Event.WAITED,
        Event.DELIVERED,
        Event.NOTIFIED,
        Event.CONFIRMED,
        Event.REJECTED,
        Event.REFUSED,
        Event.DROPPED,
    }
)
"""The events of publications that are written as rows, `delivered` only where it was not at once after the
publication's turn; `publish` is written as `Published`."""
_AT_ONCE = MILLISECOND


class Published(msgspec.Struct, array_like=True, gc=False):
    """A client published a publication."""

    variant: int
    publication: str
    time: int
    client: str | None
    intended: int | None
    content: bytes
    """JSON; its integers may be larger than 64 bits."""
    node: str
    """The driver."""
    broker: str | None
    position: int
    """Position in the log (`Column`)."""


def _list_of(row: type[msgspec.Struct]) -> pa.DataType:
    return pa.list_(pa.struct(list(arrow_schema(row))))


EVENT_BLOCKS = pa.schema(
    [
        pa.field("bucket", pa.int32(), nullable=False),
        ("places", _list_of(Place)),
        ("publications", pa.list_(pa.string())),
        *((column.name.lower(), pa.list_(pa.int64())) for column in Column),
        ("published", _list_of(Published)),
        ("detections", _list_of(NotifiedDetection)),
        ("detection_losses", _list_of(DetectionLoss)),
        ("made_detections", _list_of(MadeDetection)),
    ]
)
"""The events that one share of the logs has for one bucket. The lists that are named after the columns have an element
for each event; its place and its publication are the numbers of these in the lists before."""

_content_decoder = msgspec.json.Decoder(dict[str, Value])


class _Bucket:
    """The events of one bucket so far."""

    __slots__ = ("detection_losses", "detections", "made_detections", "publications", "published", "rows")

    def __init__(self) -> None:
        self.publications: list[str] = []
        self.rows: array[int] = array("q")
        self.published: list[Published] = []
        self.detections: list[NotifiedDetection] = []
        self.detection_losses: list[DetectionLoss] = []
        self.made_detections: list[MadeDetection] = []

    @property
    def filled(self) -> bool:
        detected = self.detections or self.detection_losses or self.made_detections
        return bool(self.rows or self.published or detected)


class EventWriter:
    """Collects the events of publications in one share of the logs, by bucket."""

    def __init__(self, buckets: int) -> None:
        self._places: dict[Place, int] = {}
        self._buckets = [_Bucket() for _ in range(buckets)]
        self._turns: set[int] = set()
        """The places of `received`, which is the latest event before a delivery at once, or the one before a comparison
        in the same turn."""
        self._rows_of: dict[str, tuple[array[int], int]] = {}
        """Rows of a publication's bucket, and its number there, by publication."""

    def number_of(self, place: Place) -> int:
        """The number by which rows name a place."""
        number = self._places.setdefault(place, len(self._places))
        if place.event is Event.RECEIVED:
            self._turns.add(number)
        return number

    def add(self, place: int, record: TraceRecord, position: int) -> None:
        """Adds the event that a record describes, given the number of its place. A record without id has none."""
        publication = record.id
        if publication is None:
            return
        found = self._rows_of.get(publication)
        if found is None:
            found = self._rows_of[publication] = self._new(publication)
        rows, number = found
        hops, duration = record.hops, record.duration
        rows.extend(
            (
                place,
                number,
                record.time,
                UNKNOWN if hops is None else hops,
                UNKNOWN if duration is None else duration,
                position,
            )
        )

    def add_delivered(self, place: int, record: TraceRecord, position: int) -> None:
        """Adds a delivery, unless it was at once after the publication's turn, as most are."""
        found = self._rows_of.get(record.id or "")
        if found is not None:
            rows, number = found
            for begin in range(len(rows) - _COLUMNS, max(-1, len(rows) - 3 * _COLUMNS), -_COLUMNS):
                place_before, publication, time = rows[begin : begin + 3]
                if place_before in self._turns and publication == number and record.time - time <= _AT_ONCE:
                    return
        self.add(place, record, position)

    def _new(self, publication: str) -> tuple[array[int], int]:
        bucket = self._bucket(publication)
        bucket.publications.append(publication)
        return bucket.rows, len(bucket.publications) - 1

    def add_published(self, variant: int, record: TraceRecord, position: int) -> None:
        """Adds the publishing that a record describes."""
        publication = record.id
        if publication is None:
            return
        content = encode_content(record.numbers, record.strings)
        self._bucket(publication).published.append(
            Published(
                variant, publication, record.time, record.client, record.intended, content, record.node, record.peer,
                position,
            )
        )  # fmt: skip

    def add_detection(self, detection: NotifiedDetection) -> None:
        self._bucket(detection.last).detections.append(detection)

    def add_detection_loss(self, loss: DetectionLoss) -> None:
        self._bucket(loss.last).detection_losses.append(loss)

    def add_made_detection(self, made: MadeDetection) -> None:
        self._bucket(made.last).made_detections.append(made)

    def blocks(self) -> pa.Table:
        """One block for each bucket that has events. The writer gives them up."""
        buckets = [(number, bucket) for number, bucket in enumerate(self._buckets) if bucket.filled]
        self._rows_of.clear()
        self._buckets.clear()
        rows = [rows_in_place(bucket.rows, len(Column)) for _, bucket in buckets]
        places = numbered_anew([of_bucket[:, Column.PLACE] for of_bucket in rows], list(self._places))
        listed: dict[str, Sequence[Any]] = {
            "places": places,
            "publications": [bucket.publications for _, bucket in buckets],
            "published": [bucket.published for _, bucket in buckets],
            "detections": [bucket.detections for _, bucket in buckets],
            "detection_losses": [bucket.detection_losses for _, bucket in buckets],
            "made_detections": [bucket.made_detections for _, bucket in buckets],
        }
        columns = {name: array_of(of_buckets, EVENT_BLOCKS.field(name).type) for name, of_buckets in listed.items()}
        columns["bucket"] = integers([number for number, _ in buckets], pa.int32())
        columns |= number_lists(rows, [column.name.lower() for column in Column])
        return pa.table([columns[name] for name in EVENT_BLOCKS.names], schema=EVENT_BLOCKS)

    def _bucket(self, publication: str) -> _Bucket:
        return self._buckets[bucket_of_key(publication_key(publication), len(self._buckets))]


def rows_in_place(numbers: array[int], columns: int) -> NDArray[np.int64]:
    """Numbers as rows, in the same memory."""
    return np.frombuffer(numbers, np.int64).reshape(-1, columns)


def numbered_anew(numbers: Sequence[NDArray[np.int64]], places: Sequence[_Place]) -> list[list[_Place]]:
    """The places that occur in each block, given the numbers of its places, which become those in this list."""
    used = []
    for of_block in numbers:
        occur = np.bincount(of_block, minlength=len(places)) > 0
        of_block[:] = (np.cumsum(occur) - 1)[of_block]
        used.append([places[number] for number in np.flatnonzero(occur).tolist()])
    return used


def number_lists(rows: Sequence[NDArray[np.int64]], names: Sequence[str]) -> dict[str, pa.ListArray]:
    """The columns of each block's rows, by name."""
    lengths = [len(of_block) for of_block in rows]
    columns = ([of_block[:, number] for of_block in rows] for number in range(len(names)))
    return {
        name: lists(integers(np.concatenate([*column, np.empty(0, np.int64)]), pa.int64()), lengths)
        for name, column in zip(names, columns, strict=True)
    }


def decode_content(data: bytes) -> dict[str, Value]:
    return _content_decoder.decode(data)


def bucket_of(key: str, buckets: int) -> int:
    """The number of the bucket that holds everything under a key, the same in every process."""
    return crc32(key.encode()) % buckets
