"""Publications that a protocol has given up for a client, and has told it so (`Promises.gives_up`).

A client that did not get a publication was told of a *lost range* of the publisher's broker's stream in its place if

1. the range was told after the publishing, and before a later publication of the same publisher reached the client;
2. faults cut the two brokers off from each other between the publishing and that moment; and
3. no more of one publisher's publications are missing in the range than it has positions.

That excuses it. A lost range without a cut excuses nothing, and neither does a cut without a lost range where a later
publication came.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from analysis.judging.histories.cuts import NO_CUTS, Cuts
from analysis.judging.judged import JudgedPublication, PublicationOutcome
from analysis.reading.log_events import LostRange
from analysis.tables.deliveries import Right
from record.time_units import SECOND

GIVEN_UP = "given up while its broker was cut off, and told as a lost range"
_OWED_NOTHING = frozenset({Right.MAY, Right.NONE})


class ToldRange(NamedTuple):
    """A lost range of one stream and client."""

    time: int
    positions: int


@dataclass(frozen=True, slots=True)
class LostRanges:
    """The lost ranges of a variant."""

    told: Mapping[tuple[str, str], Sequence[ToldRange]] = field(default_factory=dict)
    """Lost ranges by client and stream, in order of time."""
    cuts: Cuts = NO_CUTS

    @classmethod
    def of(cls, ranges: Iterable[LostRange], cuts: Cuts) -> LostRanges:
        """The ranges of one variant."""
        told: dict[tuple[str, str], list[ToldRange]] = {}
        for each in sorted(ranges, key=lambda lost: lost.time):
            told.setdefault((each.client, each.stream), []).append(ToldRange(each.time, each.positions))
        return cls(told, cuts)

    def of_publisher(self) -> MissingInRanges:
        """The judge of one publisher's publications."""
        return MissingInRanges(self)


@dataclass(slots=True)
class MissingInRanges:
    """The publications of one publisher that are missing in lost ranges."""

    ranges: LostRanges
    missing: Counter[tuple[str, int]] = field(default_factory=Counter)
    """Number of missing publications by client and time of the range."""

    def excuse(self, judged: JudgedPublication, outcome: PublicationOutcome, later_arrived: int) -> None:
        """Excuses a publication that the client is owed and did not get, if a lost range was told in its place.
        `later_arrived` is the time at which a later publication of the publisher reached the client."""
        if judged.origin is None or judged.published is None:
            return
        told = self.ranges.told.get((outcome.client, judged.origin), ())
        if not told or (outcome.right in _OWED_NOTHING and outcome.doubt is None):
            return
        for lost in told[bisect_left(told, (judged.published, 0)) :]:
            if lost.time > later_arrived:
                return
            place = outcome.client, lost.time
            cut = self.ranges.cuts.between(judged.origin, outcome.broker)
            if self.missing[place] < lost.positions and cut.overlaps(judged.published, lost.time):
                self.missing[place] += 1
                outcome.struck, outcome.excuse = True, GIVEN_UP
                outcome.evidence = (
                    f"{outcome.client} was told at {lost.time / SECOND:.3f} s of a lost range of {judged.origin}, which"
                    f" was cut off from {outcome.broker}"
                )
                return
