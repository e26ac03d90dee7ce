"""The events of a bucket of publications as columns of numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Self, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from analysis.engines.arrays import elements_of, lengths_of, numbers_of, rows_in
from analysis.reading.detections import DetectionLoss, MadeDetection, NotifiedDetection
from analysis.reading.publication_events import Column, Place, Published
from analysis.tables.rows import rows_of
from record.log import Event

Numbers = NDArray[np.int64]
Truths = NDArray[np.bool_]

NOBODY = -1
"""Stands for the name of a broker or a client that an event does not have."""

_Name = TypeVar("_Name", str, Place)


@dataclass(frozen=True, slots=True)
class Events:
    """Events of one kind, or of all kinds, by column. Brokers, neighbours and clients are numbers of names."""

    journey: Numbers
    """The number of the publication and variant."""
    kind: Numbers
    """The number of the event in `KINDS`."""
    broker: Numbers
    neighbour: Numbers
    client: Numbers
    place: Numbers
    time: Numbers
    hops: Numbers
    duration: Numbers
    position: Numbers

    def __len__(self) -> int:
        return len(self.journey)

    def take(self, chosen: Numbers | Truths) -> Self:
        """The chosen events, in the order chosen."""
        return type(self)(*(getattr(self, column.name)[chosen] for column in fields(self)))

    def of(self, event: Event) -> Self:
        return self.take(self.kind == KINDS[event])


KINDS = {event: number for number, event in enumerate(Event)}


@dataclass(frozen=True, slots=True)
class EventTable:
    """The events of a bucket."""

    names: Sequence[str]
    """The names of brokers and clients, in ascending order, so that their numbers are ordered as they are."""
    journeys: Sequence[tuple[str, int]]
    """Publication and variant of each journey. Those of one publication follow each other."""
    places: Sequence[Place]
    events: Events
    """In the order of their journeys."""
    published: Sequence[Sequence[Published]]
    """The publishings of each journey."""
    detections: Sequence[NotifiedDetection] = ()
    detection_losses: Sequence[DetectionLoss] = ()
    made_detections: Sequence[MadeDetection] = ()

    @classmethod
    def of(cls, blocks: pa.Table) -> Self:
        """The events of all blocks of a bucket, which come in any order."""
        known_places: dict[Place, int] = {}
        known_publications: dict[str, int] = {}
        publishings = rows_of(rows_in(blocks.column("published")), Published)
        rows = {column: numbers_of(elements_of(blocks.column(column.name.lower()))) for column in Column}
        placed = rows_of(rows_in(blocks.column("places")), Place)
        rows[Column.PLACE] = _joined(rows[Column.PLACE], blocks, "places", _numbers(placed, known_places))
        ids = elements_of(blocks.column("publications")).to_pylist()
        rows[Column.PUBLICATION] = _joined(
            rows[Column.PUBLICATION], blocks, "publications", _numbers(ids, known_publications)
        )
        of_publishings = _numbers([publishing.publication for publishing in publishings], known_publications)
        places, publications = list(known_places), list(known_publications)
        variants = 1 + max([*(place.variant for place in places), *(made.variant for made in publishings)], default=0)
        variant_of = np.array([place.variant for place in places], dtype=np.int64)
        of_events = rows[Column.PUBLICATION] * variants + variant_of[rows[Column.PLACE]]
        variant_of_publishings = np.array([made.variant for made in publishings], dtype=np.int64)
        keys, journey = np.unique(
            np.concatenate((of_events, of_publishings * variants + variant_of_publishings)), return_inverse=True
        )
        journey, journey_of_publishings = np.split(journey, [len(of_events)])
        published: list[list[Published]] = [[] for _ in keys]
        for number, publishing in zip(journey_of_publishings.tolist(), publishings, strict=True):
            published[number].append(publishing)
        names = sorted({name for place in places for name in _names_of(place) if name is not None})
        order = np.argsort(journey, kind="stable")
        in_order = {column: numbers[order] for column, numbers in rows.items()}
        return cls(
            names=names,
            journeys=[(publications[key // variants], key % variants) for key in keys.tolist()],
            places=places,
            events=_columns(in_order, journey[order], places, names),
            published=published,
            detections=rows_of(rows_in(blocks.column("detections")), NotifiedDetection),
            detection_losses=rows_of(rows_in(blocks.column("detection_losses")), DetectionLoss),
            made_detections=rows_of(rows_in(blocks.column("made_detections")), MadeDetection),
        )


def _columns(rows: Mapping[Column, Numbers], journey: Numbers, places: Sequence[Place], names: Sequence[str]) -> Events:
    known: dict[str | None, int] = {name: number for number, name in enumerate(names)}
    known[None] = NOBODY
    facts = [(KINDS[place.event], *map(known.__getitem__, _names_of(place))) for place in places]
    kind, broker, neighbour, client = np.array(facts, dtype=np.int64).reshape(-1, 4).T
    place = rows[Column.PLACE]
    return Events(
        journey=journey,
        kind=kind[place],
        broker=broker[place],
        neighbour=neighbour[place],
        client=client[place],
        place=place,
        time=rows[Column.TIME],
        hops=rows[Column.HOPS],
        duration=rows[Column.DURATION],
        position=rows[Column.POSITION],
    )


def _joined(numbers: Numbers, blocks: pa.Table, name: str, of_listed: Numbers) -> Numbers:
    """Numbers of events that refer to all blocks, given those that refer to a list of each event's own block, and the
    number of whatever is in these lists, one after another."""
    listed, events = lengths_of(blocks.column(name)), lengths_of(blocks.column("place"))
    return of_listed[numbers + np.repeat(np.cumsum(listed) - listed, events)]


def _names_of(place: Place) -> tuple[str | None, str | None, str | None]:
    return place.broker, place.neighbour, place.client


def _numbers(names: Iterable[_Name], known: dict[_Name, int]) -> Numbers:
    """The number of each name; new ones get the next."""
    return np.array([known.setdefault(name, len(known)) for name in names], dtype=np.int64)
