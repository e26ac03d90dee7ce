"""Stage 2 as a whole: buckets of publications are judged, those of receiving brokers are read for the audit."""

from __future__ import annotations

from dataclasses import dataclass, field

from analysis.auditing.hops.readings import HopTally
from analysis.auditing.hops.stage import HopStage
from analysis.engines.interface import Output, ShuffleBucket
from analysis.judging.publication_stage import PublicationStage, PublicationTally
from analysis.tables.totals import Tables, Tally


@dataclass(slots=True)
class SecondTally(Tally):
    """The tallies of both kinds of buckets."""

    publications: PublicationTally = field(default_factory=PublicationTally)
    hops: HopTally = field(default_factory=HopTally)


@dataclass(frozen=True)
class SecondStage:
    """See the module."""

    publications: PublicationStage
    hops: HopStage
    buckets: int
    """Of publications; those of receiving brokers come behind them."""

    def __call__(self, bucket: ShuffleBucket) -> Output[Tables]:
        if bucket.number >= self.buckets:
            return Output(SecondTally(hops=self.hops(bucket)).tables())
        judged = self.publications(bucket)
        return Output(SecondTally(publications=judged.tally).tables(), judged.parts)
