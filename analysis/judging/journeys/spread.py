"""A sample of publications with the times at which they first reached each broker, for the table `spread`.

A hash of a publication's id decides whether it is in the sample. The sample therefore does not depend on how an engine
divides the logs, and is the same in all variants that publish the same.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from operator import attrgetter
from zlib import crc32

import msgspec

from analysis.judging.journeys.journey import Journey, Journeys, Visit
from analysis.tables.motion import Spread
from analysis.tables.totals import FirstRows
from record.manifest import VariantRecord
from record.time_units import SECOND

MOST_SAMPLED = 24
"""Publications of a variant in the sample; docs and the row's docstring name the number."""


class SpreadPublication(msgspec.Struct, frozen=True):
    """A publication that reached some broker."""

    variant: int
    hashed: int
    publication: str
    visits: list[Visit]


SpreadSample = FirstRows[SpreadPublication]
"""The sample of each variant: the publications with the smallest hashes."""


def spread_sample() -> SpreadSample:
    """An empty sample."""
    return FirstRows(SpreadPublication, MOST_SAMPLED, ("variant",), ("hashed", "publication"))


def add_spread(journey: Journey, journeys: Journeys, sample: SpreadSample) -> None:
    """Adds a publication that reached some broker, unless the sample is full of others."""
    if journey.published is None or not journey.reached:
        return
    hashed = crc32(journey.publication.encode())
    if sample.takes((journey.variant,), (hashed, journey.publication)):
        visits = list(journeys.first_visits(journey))
        sample.add(SpreadPublication(journey.variant, hashed, journey.publication, visits))


def rows_of_spread(
    sample: Iterable[SpreadPublication], variants: Sequence[VariantRecord], chosen: Collection[int]
) -> Iterator[Spread]:
    """Rows of the table of the chosen variants, each publication's in order of time."""
    for found in sorted(sample, key=attrgetter("variant", "publication")):
        variant = variants[found.variant]
        start = variant.run_start or 0
        for visit in found.visits if found.variant in chosen else ():
            yield Spread(
                variant=variant.name,
                publication=found.publication,
                broker=visit.broker,
                reached_ns=visit.time,
                reached_s=(visit.time - start) / SECOND,
                hops=visit.hops,
            )
