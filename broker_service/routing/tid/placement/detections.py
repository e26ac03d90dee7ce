"""Detections of units at one broker: sets of publications that fulfil a unit, from its join point to its home.

A broker on the way passes them on, by the row of the unit alone. The home notifies its client of each set once (rule 4
of `units`), or contributes the publications to the unit of which its own is a part.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from broker_service.language.composite_subscription import MAX_PARTS
from broker_service.messages import BrokerId, ClientId, ConstituentPublication, Kind, Message, StampedPublication
from broker_service.routing.common.decoding import encode_header, header_decoder
from broker_service.routing.interface import Action, Contribute, MalformedMessageError, Notify, Send
from broker_service.routing.tid.placement.messages import (
    ContributionHeader,
    DetectionHeader,
    decode_contribution,
    decode_detection,
)
from broker_service.routing.tid.placement.rows import UnitRow
from broker_service.routing.tid.placement.unit_rows import UnitRows

_encode_bodies = msgspec.msgpack.Encoder().encode
_decode_bodies = header_decoder(tuple[bytes, ...])


class Detections:
    """The detections that are made at one broker, pass through it, or arrive at their home."""

    def __init__(self, rows: UnitRows, report_lost: Callable[[ClientId, str, str, str], None]) -> None:
        """`report_lost` is that of `CompositeSurroundings`."""
        self._rows = rows
        self._report_lost = report_lost

    def detected(self, unit: str, publications: tuple[StampedPublication, ...]) -> list[Action]:
        """Publications fulfil a unit that is detected here."""
        row = self._rows[unit]
        if (seen := row.passed_on) is not None:
            publications = tuple(publication for publication in publications if seen.add(unit, publication.id))
            if not publications:
                return []
        if row.previous is None:
            return self._arrive_home(row, publications)
        ids = tuple(publication.id for publication in publications)
        header = DetectionHeader(row.epoch, ids)
        if row.unit.parent is not None:
            header = ContributionHeader(row.epoch, ids, tuple(publication.stamp for publication in publications))
        body = _encode_bodies([publication.body for publication in publications])
        return [Send(row.previous, Message(Kind.DETECTION, unit, body, encode_header(header), 1))]

    def receive(self, neighbour: BrokerId, message: Message) -> list[Action]:
        """Publications fulfil a unit; they are passed on towards its home."""
        header = decode_detection(message.header)
        row = self._rows.get(message.id)
        if row is None:
            return []  # the client withdrew the unit while this was in flight
        if row.epoch != header.epoch:
            reason = f"made in epoch {header.epoch} of the unit, which is in epoch {row.epoch}"
            return self._lose(row, header, reason)
        if row.next_hop != neighbour and neighbour not in row.former:
            return self._lose(row, header, f"sent by {neighbour}, which is off the path of the unit")
        if row.previous is not None:
            onward = Message(Kind.DETECTION, message.id, message.body, message.header, message.hops + 1)
            return [Send(row.previous, onward)]
        bodies: tuple[bytes, ...] = _decode_bodies(message.body)
        if len(bodies) != len(header.publications) or not 0 < len(bodies) <= MAX_PARTS:
            raise MalformedMessageError(f"{len(header.publications)} publications with {len(bodies)} contents")
        if row.unit.parent is None:
            return self._notify(row, tuple(map(ConstituentPublication, header.publications, bodies)))
        stamps = decode_contribution(message.header).stamps
        if len(stamps) != len(bodies):
            raise MalformedMessageError(f"{len(bodies)} publications with {len(stamps)} stamps")
        return self._arrive_home(row, tuple(map(StampedPublication, header.publications, bodies, stamps)))

    def _lose(self, row: UnitRow, header: DetectionHeader, reason: str) -> list[Action]:
        for publication in header.publications[-1:]:
            self._report_lost(row.unit.client, row.unit.name, publication, reason)
        return []

    def _arrive_home(self, row: UnitRow, publications: tuple[StampedPublication, ...]) -> list[Action]:
        """Publications fulfil a unit whose home this broker is, or contribute to the unit of which it is a part."""
        if row.unit.parent is not None:
            return [Contribute(row.unit.parent, publications)]
        return self._notify(row, tuple(ConstituentPublication(each.id, each.body) for each in publications))

    def _notify(self, row: UnitRow, publications: tuple[ConstituentPublication, ...]) -> list[Action]:
        """Notifies the client of a set, once."""
        ids = (publication.id for publication in publications)
        if row.notified is not None and not row.notified.add(row.unit.id, *ids):
            return []
        return [Notify(row.unit, publications)]
