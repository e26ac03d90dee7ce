"""Clocks of the hosts that shared a run, and how their logs are brought to the one that is the run's.

Each host has compared its clock with the run's several times while the run went on (`manifest.json`: `hosts`). Between
two comparisons the offset is taken to change evenly, as clocks drift; before the first and after the last it stays.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from record.log import TraceRecord
from record.manifest import ClockOffset


@dataclass(frozen=True, slots=True)
class HostClock:
    """A clock that is not the run's. Holds one comparison at least, in the order of time."""

    offsets: Sequence[ClockOffset]

    @property
    def error(self) -> int:
        """Nanoseconds by which a time may be wrong at most once it is brought to the run's clock."""
        return max(sample.error for sample in self.offsets)

    def offset(self, time: int) -> int:
        """Nanoseconds to be added to a time of this clock to have the run's."""
        offsets = self.offsets
        after = bisect_right(offsets, time, key=_at)
        if after == 0:
            return offsets[0].offset
        before = offsets[after - 1]
        if after == len(offsets):
            return before.offset
        following = offsets[after]
        passed = (time - before.at) / (following.at - before.at)
        return before.offset + round((following.offset - before.offset) * passed)

    def bring_to_run_time(self, records: Iterable[TraceRecord]) -> None:
        """Changes all times of the records; durations stay."""
        for record in records:
            record.time += self.offset(record.time)
            if record.intended is not None:
                record.intended += self.offset(record.intended)


Clocks = Mapping[str, HostClock]
"""By the name of a log file, the clock of its times; files of the run's own clock are left out."""
ONE_CLOCK: Clocks = {}


def _at(sample: ClockOffset) -> int:
    return sample.at
