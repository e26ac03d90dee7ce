"""Stage 3: the buckets of publishers, then those of composite subscriptions."""

from __future__ import annotations

from dataclasses import dataclass, field

from analysis.engines.interface import Output, ShuffleBucket
from analysis.judging.detections.counts import DetectionTally
from analysis.judging.detections.stage import DetectionStage
from analysis.judging.publisher_stage import PublisherStage, PublisherTally
from analysis.tables.totals import Tables, Tally


@dataclass(slots=True)
class DeliveryTally(Tally):
    """Counts made of deliveries and detections."""

    publishers: PublisherTally = field(default_factory=PublisherTally)
    detections: DetectionTally = field(default_factory=DetectionTally)


@dataclass(frozen=True, slots=True)
class DeliveryStage:
    """Finishes a bucket of publishers or of composite subscriptions."""

    publishers: PublisherStage
    detections: DetectionStage

    def __call__(self, bucket: ShuffleBucket) -> Output[Tables]:
        beyond = bucket.number - self.publishers.buckets
        if beyond < 0:
            done = self.publishers(bucket)
            return Output(DeliveryTally(publishers=done.tally).tables(), done.parts)
        judged = self.detections(ShuffleBucket(beyond, bucket.parts))
        return Output(DeliveryTally(detections=judged.tally).tables())
