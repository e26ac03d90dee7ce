"""Stage 2 as a whole: buckets of publications are judged, those of receiving brokers are read for the audit."""

from __future__ import annotations

from dataclasses import dataclass, field

from analysis.auditing.hops.readings import HopTally
from analysis.auditing.hops.stage import HopStage
from analysis.engines.interface import Output, ShuffleBucket
from analysis.judging.publication_stage import PublicationStage, PublicationTally


@dataclass(slots=True)
class SecondTally:
    """The tallies of both kinds of buckets."""

    publications: PublicationTally = field(default_factory=PublicationTally)
    hops: HopTally = field(default_factory=HopTally)

    def merge(self, other: SecondTally) -> None:
        self.publications.merge(other.publications)
        self.hops.merge(other.hops)


@dataclass(frozen=True)
class SecondStage:
    """See the module."""

    publications: PublicationStage
    hops: HopStage
    buckets: int
    """Of publications; those of receiving brokers come behind them."""

    def __call__(self, bucket: ShuffleBucket) -> Output[SecondTally]:
        if bucket.number >= self.buckets:
            return Output(SecondTally(hops=self.hops(bucket)))
        judged = self.publications(bucket)
        return Output(SecondTally(publications=judged.tally), judged.parts)
