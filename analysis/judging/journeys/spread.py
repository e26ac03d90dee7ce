"""A sample of publications with the times at which they first reached each broker, for the table `spread`.

A hash of a publication's id decides whether it is in the sample. The sample therefore does not depend on how an engine
divides the logs, and is the same in all variants that publish the same.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from zlib import crc32

from analysis.judging.journeys.journey import Journey, Journeys, Visit
from analysis.tables.motion import Spread
from record.manifest import VariantRecord
from record.time_units import SECOND

MOST_SAMPLED = 24
"""Publications of a variant in the sample; docs and the row's docstring name the number."""


@dataclass(slots=True)
class SpreadSample:
    """The sample of each variant: the publications with the smallest hashes."""

    visits: dict[int, dict[str, Sequence[Visit]]] = field(default_factory=dict)
    """First visits of each publication, by variant."""

    def add(self, journey: Journey, journeys: Journeys) -> None:
        """Adds a publication that reached some broker, unless the sample is full of others."""
        if journey.published is None or not journey.reached:
            return
        sample = self.visits.setdefault(journey.variant, {})
        last = max(map(_rank, sample), default=(0, ""))
        if len(sample) < MOST_SAMPLED or _rank(journey.publication) < last:
            sample[journey.publication] = journeys.first_visits(journey)
            _trim(sample)

    def merge(self, other: SpreadSample) -> None:
        for variant, sample in other.visits.items():
            own = self.visits.setdefault(variant, {})
            own.update(sample)
            _trim(own)

    def rows(self, variants: Sequence[VariantRecord], chosen: Collection[int]) -> Iterator[Spread]:
        """Rows of the table of the chosen variants, each publication's in order of time."""
        for number in sorted(chosen):
            variant = variants[number]
            start = variant.run_start or 0
            for publication, visits in sorted(self.visits.get(number, {}).items()):
                for visit in visits:
                    yield Spread(
                        variant=variant.name,
                        publication=publication,
                        broker=visit.broker,
                        reached_ns=visit.time,
                        reached_s=(visit.time - start) / SECOND,
                        hops=visit.hops,
                    )


def _rank(publication: str) -> tuple[int, str]:
    return crc32(publication.encode()), publication


def _trim(sample: dict[str, Sequence[Visit]]) -> None:
    """Removes publications beyond the smallest hashes."""
    for publication in sorted(sample, key=_rank)[MOST_SAMPLED:]:
        del sample[publication]
