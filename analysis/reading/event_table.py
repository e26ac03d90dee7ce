"""The events of a bucket of publications as columns of numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Self, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from analysis.reading.detections import DetectionLoss, MadeDetection, NotifiedDetection
from analysis.reading.publication_events import Column, EventPart, Place, Published
from record.log import Event

Numbers = NDArray[np.int64]
Truths = NDArray[np.bool_]

NOBODY = -1
"""Stands for the name of a broker or a client that an event does not have."""

_Name = TypeVar("_Name", str, Place)

_decoder = msgspec.msgpack.Decoder(EventPart)


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
    def of(cls, parts: Iterable[bytes]) -> Self:
        """The events of all parts of a bucket, which come in any order."""
        publications: dict[str, int] = {}
        places: dict[Place, int] = {}
        publishings: list[Published] = []
        detections: list[NotifiedDetection] = []
        losses: list[DetectionLoss] = []
        made: list[MadeDetection] = []
        found: list[Numbers] = [np.empty((0, len(Column)), dtype=np.int64)]
        for encoded in parts:
            part = _decoder.decode(encoded)
            rows = np.array(np.frombuffer(part.rows or b"", dtype=np.int64)).reshape(-1, len(Column))
            rows[:, Column.PLACE] = _numbers(part.places, places)[rows[:, Column.PLACE]]
            rows[:, Column.PUBLICATION] = _numbers(part.publications, publications)[rows[:, Column.PUBLICATION]]
            found.append(rows)
            publishings += part.published
            detections += part.detections
            losses += part.detection_losses
            made += part.made_detections
        rows = np.concatenate(found)
        of_publishings = _numbers([publishing.publication for publishing in publishings], publications)
        variants = 1 + max([*(place.variant for place in places), *(made.variant for made in publishings)], default=0)
        variant_of = np.array([place.variant for place in places], dtype=np.int64)
        keys, journey = np.unique(
            np.concatenate(
                (
                    rows[:, Column.PUBLICATION] * variants + variant_of[rows[:, Column.PLACE]],
                    of_publishings * variants + np.array([made.variant for made in publishings], dtype=np.int64),
                )
            ),
            return_inverse=True,
        )
        published: list[list[Published]] = [[] for _ in keys]
        for number, publishing in zip(journey[len(rows) :].tolist(), publishings, strict=True):
            published[number].append(publishing)
        names = sorted({name for place in places for name in _names_of(place) if name is not None})
        order = np.argsort(journey[: len(rows)], kind="stable")
        ids = list(publications)
        return cls(
            names=names,
            journeys=[(ids[key // variants], key % variants) for key in keys.tolist()],
            places=list(places),
            events=_columns(rows[order], journey[order], list(places), names),
            published=published,
            detections=detections,
            detection_losses=losses,
            made_detections=made,
        )


def _columns(rows: Numbers, journey: Numbers, places: Sequence[Place], names: Sequence[str]) -> Events:
    known: dict[str | None, int] = {name: number for number, name in enumerate(names)}
    known[None] = NOBODY
    facts = [(KINDS[place.event], *map(known.__getitem__, _names_of(place))) for place in places]
    kind, broker, neighbour, client = np.array(facts, dtype=np.int64).reshape(-1, 4).T
    place = rows[:, Column.PLACE]
    return Events(
        journey=journey,
        kind=kind[place],
        broker=broker[place],
        neighbour=neighbour[place],
        client=client[place],
        place=place,
        time=rows[:, Column.TIME],
        hops=rows[:, Column.HOPS],
        duration=rows[:, Column.DURATION],
        position=rows[:, Column.POSITION],
    )


def _names_of(place: Place) -> tuple[str | None, str | None, str | None]:
    return place.broker, place.neighbour, place.client


def _numbers(names: Iterable[_Name], known: dict[_Name, int]) -> Numbers:
    """The number of each name; new ones get the next."""
    return np.array([known.setdefault(name, len(known)) for name in names], dtype=np.int64)
