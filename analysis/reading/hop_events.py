"""Records of messages at the two ends of every link direction, as columns of numbers.

1. A row is a `sent` or a `received` record of a message of any kind. Stage 1 makes one *block* for each bucket, with
   the rows in parallel lists (`HOP_BLOCKS`).
2. The fields that many rows have in common are their *place*, which a row gives by number.
3. All rows of the messages that a broker receives in one variant, and of their sending to it, are in one bucket, so
   that a link direction, and the work of a broker, can be judged by looking at one bucket. Brokers of all variants are
   dealt out to the buckets one by one, so that each has as few as there can be.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from enum import IntEnum

import msgspec
import pyarrow as pa

from analysis.engines.arrays import array_of, integers
from analysis.reading.message_keys import message_key
from analysis.reading.publication_events import UNKNOWN, number_lists, numbered_anew, rows_in_place
from analysis.tables.schema import arrow_schema
from record.log import Event, TraceRecord


class HopColumn(IntEnum):
    """The columns of a row."""

    PLACE = 0
    MESSAGE = 1
    """Stands for kind and identifier (`analysis.reading.message_keys`)."""
    TIME = 2
    """Time of leaving the queue, for `sent`; of the turn, for `received`. Nanoseconds."""
    LINK_TIME = 3
    """Time of writing, for `sent`; of arrival, for `received`. `UNKNOWN` where the record states none."""
    DURATION = 4
    BYTES = 5
    """Bytes of body, header, identifier and label."""


class HopPlace(msgspec.Struct, array_like=True, frozen=True):
    """The fields that many rows have in common."""

    variant: int
    event: Event
    """`sent` or `received`."""
    node: str
    peer: str | None
    """The broker at the link's other end, or the site; None for a message of a client as its broker handles it."""
    kind: str
    access: bool = False
    """True at an access link, one end of which is a site: for the audit of links alone."""

    @property
    def receiver(self) -> str:
        return self.peer if self.event is Event.SENT and self.peer is not None else self.node


HOP_BLOCKS = pa.schema(
    [
        pa.field("bucket", pa.int32(), nullable=False),
        ("places", pa.list_(pa.struct(list(arrow_schema(HopPlace))))),
        *((column.name.lower(), pa.list_(pa.int64())) for column in HopColumn),
    ]
)
"""The rows that one share of the logs has for one bucket."""


class HopWriter:
    """Collects the rows of one share of the logs, by bucket."""

    def __init__(self, buckets: int, brokers: Iterable[str]) -> None:
        """`brokers` are all receivers, sites among them."""
        self._brokers = {broker: number for number, broker in enumerate(sorted(brokers))}
        self._places: list[HopPlace] = []
        self._rows_at: list[array[int]] = []
        """Rows of the bucket of each place."""
        self._keys_at: list[dict[str, int]] = []
        """Numbers that stand for messages of the kind of each place."""
        self._keys: dict[str, dict[str, int]] = {}
        self._buckets: list[array[int]] = [array("q") for _ in range(buckets)]

    def number_of(self, place: HopPlace) -> int:
        """The number by which rows name a place, which is given once."""
        self._places.append(place)
        number = place.variant * len(self._brokers) + self._brokers[place.receiver]
        self._rows_at.append(self._buckets[number % len(self._buckets)])
        self._keys_at.append(self._keys.setdefault(place.kind, {}))
        return len(self._places) - 1

    def add(self, place: int, record: TraceRecord, besides: int = 0) -> None:
        """Adds a record, given the number of its place, with so many bytes besides its own. A record without id is left
        out."""
        id = record.id
        if id is None:
            return
        keys = self._keys_at[place]
        key = keys.get(id)
        if key is None:
            key = keys[id] = message_key(self._places[place].kind, id)
        link_time = record.written if record.arrived is None else record.arrived
        duration, label = record.duration, record.label
        self._rows_at[place].extend(
            (
                place,
                key,
                record.time,
                UNKNOWN if link_time is None else link_time,
                UNKNOWN if duration is None else duration,
                (record.bytes or 0) + len(id) + (0 if label is None else len(label)) + besides,
            )
        )

    def blocks(self) -> pa.Table:
        """One block for each bucket that has rows. The writer gives them up."""
        buckets = [(number, bucket) for number, bucket in enumerate(self._buckets) if bucket]
        self._keys.clear()
        self._keys_at.clear()
        self._rows_at.clear()
        self._buckets.clear()
        rows = [rows_in_place(bucket, len(HopColumn)) for _, bucket in buckets]
        places = numbered_anew([of_bucket[:, HopColumn.PLACE] for of_bucket in rows], self._places)
        columns = {
            "bucket": integers([number for number, _ in buckets], pa.int32()),
            "places": array_of(places, HOP_BLOCKS.field("places").type),
            **number_lists(rows, [column.name.lower() for column in HopColumn]),
        }
        return pa.table([columns[name] for name in HOP_BLOCKS.names], schema=HOP_BLOCKS)
