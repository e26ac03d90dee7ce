"""Stage 3, by composite subscription: judges detections, writes the tables `detections` and `expected_detections`."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import pyarrow as pa

from analysis.judging.deliveries.doubles import moves_of
from analysis.judging.detections.counts import DetectionTally
from analysis.judging.detections.events import CompositeEventReader, CompositeName, PartOfComposite, PlacedDetection
from analysis.judging.detections.evidence import SetFacts
from analysis.judging.detections.oracle import ComposedLifetime, DetectionSweep, JudgedDetection
from analysis.judging.detections.rows import (
    defect_example,
    expected_row,
    notification_row,
    spurious_example,
    spurious_row,
)
from analysis.judging.detections.spurious import cause_of, matches_of
from analysis.judging.evidence.excuses import Evidence
from analysis.judging.examples import keep_example
from analysis.judging.histories.history import History
from analysis.judging.language import parts_of
from analysis.judging.rights.declared import composite_of
from analysis.judging.rights.standing import standings_of
from analysis.judging.variant_context import VariantContext
from analysis.reading.intervals import FOREVER, NONE, Intervals
from analysis.reading.lifetimes import DeclarationLifetime
from analysis.reading.placements import JoinPoint
from analysis.reading.stays import Stay
from analysis.run_files.folders import Folder
from analysis.tables.deliveries import Cause
from analysis.tables.detections import Detection, DetectionDefect, ExpectedDetection
from analysis.tables.partitions import PartWriter
from analysis.tables.totals import Rows

ROUNDING = 2
"""Largest error, in nanoseconds, of comparing the difference of two rounded stamps with a rounded window."""

Lifetimes = Mapping[int, ComposedLifetime]
"""The lifetimes of a composite subscription, by their numbers in the variant's history."""


class _Writers(NamedTuple):
    notifications: PartWriter[Detection]
    expected: PartWriter[ExpectedDetection]


DETECTIONS_JUDGED = DetectionTally().schema()


@dataclass(frozen=True, slots=True)
class DetectionStage:
    """Judges a bucket of composite subscriptions. Its part of each table goes into files of the bucket's own: one file
    of sets that are detections, and one of those that are none."""

    variants: Sequence[VariantContext]
    lifetimes: Mapping[CompositeName, Lifetimes]
    parts: Folder | None
    """The folder for parts of the tables; None where these are not wanted."""
    buckets: int
    """Number of buckets of composite subscriptions, which come first."""

    def __call__(self, parts: pa.Table) -> pa.Table:
        tally, number = DetectionTally(), parts.column("bucket")[0].as_py()
        beyond = number + self.buckets
        reader = CompositeEventReader(parts)
        with (
            PartWriter(self.parts, Detection, number) as notifications,
            PartWriter(self.parts, ExpectedDetection, number) as expected,
            PartWriter(self.parts, Detection, beyond) as spurious_notifications,
            PartWriter(self.parts, ExpectedDetection, beyond) as unexpected,
        ):
            for composite in reader:
                lifetimes = self.lifetimes.get(composite, {})
                sweep = DetectionSweep(lifetimes)
                for judged in sweep.judged(reader.events(composite)):
                    self._add(composite, judged, tally, _Writers(notifications, expected))
                if sweep.strays:
                    matches = matches_of(sweep.strays, reader.matches(composite))
                    caused = [(stray, cause_of(stray, matches, lifetimes)) for stray in sweep.strays]
                    self._add_spurious(composite, caused, tally, _Writers(spurious_notifications, unexpected))
        return tally.table()

    def _add(self, composite: CompositeName, judged: JudgedDetection, tally: DetectionTally, write: _Writers) -> None:
        variant = self.variants[composite.variant]
        tally.add(composite.variant, judged)
        write.expected.write(expected_row(variant.name, composite, judged))
        for repeat, notified in enumerate(judged.notified):
            write.notifications.write(notification_row(variant, composite, notified, repeat, judged))
        defect = judged.defect
        if defect is not None:
            key = judged.members[-1].stamp, ",".join(judged.publications), f"{composite.client} {composite.name}"
            kind = composite.variant, defect.value
            keep_example(tally.examples, kind, key, lambda: defect_example(composite, judged, defect))

    def _add_spurious(
        self,
        composite: CompositeName,
        strays: Iterable[tuple[PlacedDetection, Cause]],
        tally: DetectionTally,
        write: _Writers,
    ) -> None:
        variant = self.variants[composite.variant]
        notified: Counter[tuple[str, ...]] = Counter()
        causes: dict[tuple[str, ...], Cause] = {}
        for stray, cause in strays:
            publications = stray.detection.publications
            tally.counts.of(composite.variant).add_spurious(cause)
            write.notifications.write(
                notification_row(variant, composite, stray.detection, notified[publications], None)
            )
            notified[publications] += 1
            causes.setdefault(publications, cause)
            key = stray.stamp, ",".join(publications), f"{composite.client} {composite.name}"
            kind = composite.variant, DetectionDefect.SPURIOUS.value
            keep_example(tally.examples, kind, key, partial(spurious_example, composite, stray, cause))
        for publications, cause in causes.items():
            write.expected.write(spurious_row(variant.name, composite, publications, notified[publications], cause))


def lifetimes_of(
    histories: Sequence[History],
    matched: Rows[PartOfComposite],
    rounding: Sequence[int],
    joined: Iterable[JoinPoint],
    evidence: Sequence[Evidence],
) -> dict[CompositeName, dict[int, ComposedLifetime]]:
    """The lifetimes of all composite subscriptions, given the number of publications that match each part.

    `rounding` has nanoseconds for each variant, by which a difference of two of its stamps may be wrong; `joined` are
    the join points of those that are routed as units; `evidence` is that of each variant.
    """
    points: defaultdict[CompositeName, list[JoinPoint]] = defaultdict(list)
    for point in joined:
        points[CompositeName(point.variant, point.client, point.composite)].append(point)
    found: dict[CompositeName, dict[int, ComposedLifetime]] = {}
    for variant, history in enumerate(histories):
        error = sum(sorted(history.stamp_errors.values())[-2:]) + rounding[variant]
        for number, lifetime in enumerate(history.lifetimes):
            composite = composite_of(lifetime)
            if composite is None:
                continue
            parts = range(len(parts_of(composite.pattern)))
            name = CompositeName(variant, lifetime.client, lifetime.name)
            found.setdefault(name, {})[number] = ComposedLifetime(
                pattern=composite.pattern,
                within=composite.within,
                matches=[matched.of(variant, number, part).matches for part in parts],
                facts=list(_facts(number, history, evidence[variant], _of_lifetime(points[name], lifetime))),
                moves=moves_of(history, lifetime.client),
                error=error,
            )
    return found


def _facts(number: int, history: History, evidence: Evidence, points: Sequence[JoinPoint]) -> Iterator[SetFacts]:
    """The facts about lifetime `number` of a history, at each broker of its client."""
    lifetime = history.lifetimes[number]
    stays: Sequence[Stay | None] = history.stays.of(lifetime.client) or (None,)
    for stay, made in zip(stays, standings_of(number, lifetime, history), strict=True):
        yield SetFacts(
            evidence=evidence,
            broker=made.broker,
            stay=stay,
            served_twice=history.served_twice.get((lifetime.node, lifetime.broker), ()),
            points=points if stay is None else [point for point in points if _is_of(point, stay)],
            sessions=made.outages,
            struck=evidence.clients_struck.get(lifetime.client, NONE),
            silent=history.silent,
            disturbed=Intervals.union(*history.struck.values()),
        )


def _is_of(point: JoinPoint, stay: Stay) -> bool:
    """True of a join point that began during a stay, for the broker of the stay. The path of a sub-unit does not lead
    to that broker, but to the join point of its unit."""
    home = (*point.placement.path, point.broker)[0]
    return stay.begin <= point.joined <= stay.end and (home == stay.broker or bool(point.detecting.sub_unit))


def _of_lifetime(points: Iterable[JoinPoint], lifetime: DeclarationLifetime) -> list[JoinPoint]:
    """The join points of one lifetime of a composite subscription, of those under its name."""
    end = FOREVER if lifetime.withdrawn is None else lifetime.withdrawn
    return [point for point in points if lifetime.issued <= point.joined <= end]
