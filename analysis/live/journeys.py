"""A sample of publications, with their first arrivals at brokers, for the page to follow on its map.

The publications with the smallest hashes are in it, as in the table `spread`. A hash that is too large once is so for
ever, so the sample is the same in whatever order logs are read.
"""

from __future__ import annotations

from collections.abc import Mapping
from zlib import crc32

from analysis.judging.journeys.spread import MOST_SAMPLED
from analysis.live.frames import Followed, Visit
from record.log import TraceRecord

_MICROSECONDS = 6
_ANY_HASH = 2**32


class JourneySample:
    """The sample of one variant."""

    def __init__(self) -> None:
        self._arrivals: dict[str, dict[str, tuple[int, str]]] = {}
        """Time and sender of the first arrival, by publication and broker."""
        self._largest = (0, "")
        """The largest hash in the sample, with its publication."""
        self.largest_hash = _ANY_HASH
        """The hash up to which publications are in the sample; any before that has so many."""

    def add(self, received: TraceRecord) -> None:
        """Adds a publication's arrival at a broker, unless the sample is full of others."""
        publication = received.id or ""
        arrivals = self._arrivals.get(publication)
        if arrivals is None:
            hashed = crc32(publication.encode()), publication
            if len(self._arrivals) == MOST_SAMPLED:
                if hashed > self._largest:
                    return
                del self._arrivals[self._largest[1]]
            arrivals = self._arrivals[publication] = {}
            self._largest = max((crc32(name.encode()), name) for name in self._arrivals)
            if len(self._arrivals) == MOST_SAMPLED:
                self.largest_hash = self._largest[0]
        arrival = received.time, received.peer or ""
        arrivals[received.node] = min(arrivals.get(received.node, arrival), arrival)

    def followed(self, number: Mapping[str, int], seconds: float) -> list[Followed]:
        """The publications of the sample in order of time, with the numbers of brokers; `seconds` are those of a
        nanosecond of the log."""
        found = []
        for publication, arrivals in self._arrivals.items():
            visits = sorted(
                (time * seconds, number[broker], number.get(sender, -1))
                for broker, (time, sender) in arrivals.items()
                if broker in number
            )
            if visits:
                shown = [Visit(round(at, _MICROSECONDS), broker, sender) for at, broker, sender in visits]
                found.append(Followed(publication, shown))
        return sorted(found, key=lambda followed: (followed.visits[0].at, followed.name))
