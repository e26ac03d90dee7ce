"""The table of join points, with the detections that each made."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from analysis.reading.intervals import FOREVER
from analysis.reading.placements import DetectingBroker, DetectionReadings, JoinPoint
from analysis.tables.placements import Placement
from record.manifest import PhaseName, VariantRecord
from record.time_units import SECOND


@dataclass(frozen=True, slots=True)
class PlacementTables:
    """The join points of all variants, in the order in which they began."""

    join_points: Sequence[JoinPoint]
    detected: DetectionReadings
    variants: Sequence[VariantRecord]

    def placements(self) -> Iterator[Placement]:
        """The table `placements`."""
        made = self._detections()
        return (
            _placement(point, made[number], self.variants[point.variant])
            for number, point in enumerate(self.join_points)
        )

    def _detections(self) -> Counter[int]:
        """The number of detections that each join point made. A broker that was one several times made those of a
        second as the last of them that had begun by then."""
        points: defaultdict[DetectingBroker, list[int]] = defaultdict(list)
        for number, point in enumerate(self.join_points):
            points[point.detecting].append(number)
        made: Counter[int] = Counter()
        for detecting, numbers in points.items():
            for second, detections in self.detected.by_second(detecting):
                begun = [number for number in numbers if self.join_points[number].joined // SECOND <= second]
                made[begun[-1] if begun else numbers[0]] += detections
        return made


def _placement(point: JoinPoint, detections: int, variant: VariantRecord) -> Placement:
    placement, run = point.placement, variant.phase(PhaseName.RUN)
    running = 0 if run is None else min(point.left, run.end) - max(point.joined, run.start)
    left = None if point.left == FOREVER else point.left
    return Placement(
        variant=variant.name,
        client=point.client,
        composite=point.composite,
        unit=placement.unit,
        epoch=placement.epoch,
        broker=point.broker,
        former=point.former,
        path=list(placement.path),
        joined_ns=point.joined,
        left_ns=left,
        joined_s=_offset(point.joined, variant),
        left_s=None if left is None else _offset(left, variant),
        reason=point.reason,
        ending=point.ending,
        cost=next((found.cost for found in placement.costs if found.broker == point.broker), None),
        estimated_per_s=placement.matches,
        detections=detections,
        detected_per_s=detections * SECOND / running if running > 0 else None,
    )


def _offset(time: int, variant: VariantRecord) -> float | None:
    return None if variant.run_start is None else (time - variant.run_start) / SECOND
