"""Round trip of a link: the shortest time from a probe to its echo, less the time for which the neighbour kept it.

A hello is a probe whose echo is the first frame after it: the answer, and the beat that the dialling end sends as soon
as it is answered. From then on every beat carries a probe and the echo of the neighbour's latest.
"""

from __future__ import annotations

from broker_service.links.frames import Probe
from broker_service.links.overlay_link import OverlayLink
from record.time_units import SECOND


class RoundTrip:
    """Measurement of the round trip of one link by probes on its present stream. Times are nanoseconds."""

    __slots__ = ("_hello_at", "_link", "_probed", "due")

    def __init__(self, link: OverlayLink) -> None:
        self.due = False
        """True when the next frame shall carry a probe."""
        self._link = link
        self._hello_at: int | None = None
        """The time at which this end's hello was written; None once the frame that echoes it has come."""
        self._probed: tuple[int, int] | None = None
        """The time that the neighbour's latest probe carried, and the time at which it came in."""

    def begin(self) -> None:
        """Forgets the probes of a former stream."""
        self.due = False
        self._hello_at = self._probed = None

    def hello_written(self, now: int) -> None:
        self._hello_at = now

    def hello_answered(self, now: int) -> None:
        """Notes that the neighbour's hello has come, which answers this end's."""
        if self._hello_at is not None:
            self._note(now - self._hello_at)
            self._hello_at = None

    def probe(self, now: int) -> Probe:
        """The probe that was due, and the echo of the neighbour's latest."""
        self.due = False
        if self._probed is None:
            return Probe(now)
        time, came = self._probed
        return Probe(now, time + now - came)

    def measure(self, probe: Probe, now: int) -> None:
        """Notes a probe of the neighbour, which echoes one of this end or its hello."""
        if self._hello_at is not None:
            echo: int | None = self._hello_at
            self._hello_at = None
        else:
            echo = probe.echo
        if echo is not None:
            self._note(now - echo)
        self._probed = (probe.time, now)

    def _note(self, nanoseconds: int) -> None:
        """Keeps the shortest. A negative one, which no correct neighbour causes, is ignored."""
        seconds, shortest = nanoseconds / SECOND, self._link.round_trip
        if nanoseconds >= 0 and (shortest is None or seconds < shortest):
            self._link.round_trip = seconds
