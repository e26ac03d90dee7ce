"""Clocks of the hosts that shared a run, and the conversion of their times to the run's clock.

Each host compared its clock with the run's several times during the run (`manifest.json`: `hosts`). Between two
comparisons the offset is taken to change linearly, as clocks drift; before the first and after the last it is constant.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from record.log import TraceRecord
from record.manifest import ClockOffset, Manifest


@dataclass(frozen=True, slots=True)
class HostClock:
    """A clock other than the run's, with at least one comparison, in order of time."""

    offsets: Sequence[ClockOffset]

    @property
    def error(self) -> int:
        """The largest possible error of a converted time, in nanoseconds."""
        return max(sample.error for sample in self.offsets)

    @property
    def stamp_error(self) -> int:
        """The largest possible difference between a time that the host converted by the first comparison alone and the
        same time as converted here, in nanoseconds."""
        offsets = [sample.offset for sample in self.offsets]
        return self.error + max(offsets) - min(offsets)

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

    def offsets_at(self, times: NDArray[np.int64]) -> NDArray[np.int64]:
        """`offset` of many times."""
        at, offsets = np.array([(sample.at, sample.offset) for sample in self.offsets], dtype=np.int64).T
        # Differences are exact as floating-point numbers, and nanoseconds since a boot long ago are not.
        between = np.interp(times - at[0], at - at[0], offsets - offsets[0])
        return np.asarray(offsets[0] + np.rint(between).astype(np.int64))

    def bring_to_run_time(self, records: Iterable[TraceRecord]) -> None:
        """Converts all times of the records in place; durations stay."""
        for record in records:
            record.time += self.offset(record.time)
            if record.intended is not None:
                record.intended += self.offset(record.intended)
            if record.arrived is not None:
                record.arrived += self.offset(record.arrived)
            if record.written is not None:
                record.written += self.offset(record.written)


Clocks = Mapping[str, HostClock]
"""The clock of each log file, by the file's name; files of the run's own clock are left out."""
ONE_CLOCK: Clocks = {}


def clocks_of(manifest: Manifest) -> Clocks:
    """The clock of each log file whose times are not of the run's clock."""
    return {log: HostClock(host.offsets) for host in manifest.hosts if host.offsets for log in host.logs}


def _at(sample: ClockOffset) -> int:
    return sample.at
