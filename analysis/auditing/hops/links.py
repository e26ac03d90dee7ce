"""The reading of one link direction from its messages.

1. Messages with the same times of writing and arrival travelled in one frame. A frame *found the link idle* when all
   frames before it had arrived; only its own length, the link's delay and its jitter then count.
2. Frames that a link drops are sent again by TCP: 200 ms later at least, because a lone frame gets no other help.
   Those are counted for the loss and left out of the delay.
3. Frames that wait for the rate arrive one after the other, by the time that the rate gives each.
4. Sizes on the wire are those of the messages with headers: HTTP/2 and gRPC (16 bytes a frame, 13 a message, as a
   rule), and Ethernet, IP and TCP (66 bytes for each segment of 1448). A control message with a short name has less, so
   a message is too quick only beside the least headers.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from analysis.auditing.hops.asked import AskedVariant, untouched
from analysis.auditing.hops.readings import QUANTILES, LinkReading, Spread
from analysis.auditing.hops.table import Direction, Hops
from analysis.auditing.hops.waits import Waits, waits_of
from analysis.run_files.processor_times import ProcessorTimes
from record.time_units import MILLISECOND, SECOND
from topology.link_properties import LinkProperties

_FRAME, _MESSAGE, _SEGMENT, _PACKET = 16, 13, 1448, 66
_LEAST_FRAME, _LEAST_MESSAGE = 14, 6
"""Bytes of a frame without an acknowledgement, and of a message that has no name and has been on no link before."""
FEWEST_UNDISTURBED = 30
"""Undisturbed frames that found the link idle, from which on the others are left out."""
_ACKNOWLEDGED_EVERY = SECOND / 2
"""The time for which a broker waits before it acknowledges a client's publications."""
SENT_AGAIN = 150 * MILLISECOND
"""Lateness in real time from which a frame that found the link idle was sent again by TCP."""

Times = NDArray[np.float64]


def link_reading(direction: Direction, sent: int, hops: Hops, asked: AskedVariant) -> LinkReading:
    """The reading of a direction that the overlay had at the start, on which so many messages were sent."""
    wires = asked.wires
    properties = wires[direction.source, direction.target]
    struck = asked.struck_on_link(direction.source, direction.target)
    free = untouched(hops.left, hops.arrived, struck)
    frames = Frames(hops, free, properties, asked.costs.longest)
    opposite = wires.get((direction.target, direction.source), properties)
    idle = frames.idle() if asked.whole_log else np.zeros(len(frames.arrived), dtype=np.bool_)
    travelled = frames.travelled()
    furthest = (properties.delay + 6 * properties.jitter) * SECOND + SENT_AGAIN / asked.time_dilation
    waits = waits_of(direction.source, direction.target, frames.written, frames.arrived, asked)
    late = idle & (travelled - waits.at_most > furthest)
    again = 1 - (1 - properties.loss) ** frames.segments[idle]
    chosen = _undisturbed(idle & ~late, waits)
    judges_rate = asked.whole_log and not properties.loss and not opposite.loss
    queued, stretch = frames.queued(waits.disturbed) if judges_rate else (0, 1.0)
    took = (hops.written - hops.left)[free & (hops.written > hops.left)]
    return LinkReading(
        variant=direction.variant,
        source=direction.source,
        target=direction.target,
        asked=properties,
        sent=sent,
        paired=int(np.count_nonzero(free)),
        delay=spread_of(travelled[chosen]),
        disturbed=int(np.count_nonzero(waits.disturbed & idle)),
        cleared=spread_of((travelled - frames.uncertain - waits.at_most)[chosen]),
        idle=int(np.count_nonzero(idle)),
        late=int(np.count_nonzero(late)),
        late_expected=float(again.sum()),
        queued=queued,
        queued_stretch=stretch,
        unlogged=asked.acknowledged(direction.source, direction.target) * frames.acknowledgement / _ACKNOWLEDGED_EVERY,
        acknowledgement=frames.acknowledgement,
        sending=spread_of(took.astype(np.float64)),
        overlapping=int(np.count_nonzero(_overlaps(hops, free, asked.processors.get(direction.source)))),
    )


def _overlaps(hops: Hops, free: NDArray[np.bool_], sender: ProcessorTimes | None) -> NDArray[np.bool_]:
    """True for each message that left the queue before the one ahead was written, though its sender did not wait."""
    left, written = hops.left[1:], hops.written[:-1]
    overlaps = (left < written) & free[1:] & free[:-1]
    if sender is not None:
        overlaps[overlaps] = sender.touched_by_waits(left[overlaps], written[overlaps]) == 0
    return overlaps


def _undisturbed(frames: NDArray[np.bool_], waits: Waits) -> NDArray[np.bool_]:
    """Frames that did not wait for a processor, or all frames where these are too few for figures."""
    alone = frames & ~waits.disturbed
    return alone if np.count_nonzero(alone) >= FEWEST_UNDISTURBED else frames


def spread_of(times: Times) -> Spread:
    """The distribution of some times; all zero without any."""
    if not len(times):
        return Spread()
    low, median, high = (float(quantile) for quantile in np.quantile(times, QUANTILES))
    return Spread(len(times), float(times.min()), low, median, high, float(times.mean()))


class Frames:
    """The frames of a direction, in the order of writing."""

    def __init__(self, hops: Hops, free: NDArray[np.bool_], properties: LinkProperties, latency: int) -> None:
        """`latency` is the longest time that a simulated TCP takes besides the link."""
        new = np.ones(len(hops), dtype=np.bool_)
        new[1:] = (np.diff(hops.written) != 0) | (np.diff(hops.arrived) != 0)
        first = np.flatnonzero(new)
        messages = np.diff(np.append(first, len(hops)))
        carried = np.add.reduceat(hops.bytes, first) if len(first) else hops.bytes
        payload = carried + _MESSAGE * messages + _FRAME
        self.written, self.arrived, self._free = hops.written[first], hops.arrived[first], free[first]
        self.segments = -(-payload // _SEGMENT)
        self._jitter = properties.jitter
        self.acknowledgement = 0.0 if properties.rate is None else 8 * SECOND * (_FRAME + _PACKET) / properties.rate
        """Nanoseconds for which the rate serialises a frame without messages."""
        self._of = np.cumsum(new) - 1
        """The frame of each message."""
        self._bytes = hops.bytes
        self._latency = latency
        of_byte = 0.0 if properties.rate is None else 8 * SECOND / properties.rate
        self._serialised = (payload + _PACKET * self.segments) * of_byte
        self.uncertain = ((_FRAME - _LEAST_FRAME) + (_MESSAGE - _LEAST_MESSAGE) * messages) * of_byte
        """Nanoseconds by which headers as a rule take longer than the least, by frame."""

    def idle(self) -> NDArray[np.bool_]:
        """True for each frame that found the link idle, outside of faults."""
        idle = self._free.copy()
        if len(idle):
            idle[1:] &= np.maximum.accumulate(self.arrived)[:-1] + self._latency <= self.written[1:]
        return idle

    def travelled(self) -> Times:
        """Time from writing to arrival, less the least for which the rate serialises the frame alone."""
        return np.asarray((self.arrived - self.written) - (self._serialised - self.uncertain), dtype=np.float64)

    def queued(self, disturbed: NDArray[np.bool_]) -> tuple[int, float]:
        """The number of frames that the rate makes wait for the frame before, and the stretch of their arrivals.

        Frames that were disturbed, and those behind them, are left out.
        """
        if self._jitter or not self._serialised.any() or len(self.written) < 2:
            return 0, 1.0
        starts = self._starts()
        waits = (starts - self.written)[1:] > self._serialised[1:]
        waits &= self._free[1:] & self._free[:-1] & ~disturbed[1:] & ~disturbed[:-1]
        if not waits.any():
            return 0, 1.0
        gaps = np.diff(self.arrived)[waits]
        return int(np.count_nonzero(waits)), float(gaps.sum() / self._serialised[1:][waits].sum())

    def through(self) -> Times:
        """The time that the rate takes for the frame of each message and for what is ahead of that, from writing on."""
        return np.asarray((self._starts() - self.written + self._serialised)[self._of])

    def shares(self) -> tuple[Times, Times]:
        """The share of each message of the time for which the rate serves its frame, and that of those behind it."""
        if not len(self._of):
            return np.zeros(0), np.zeros(0)
        ends = np.cumsum(self._bytes + _MESSAGE)
        whole = np.append(np.flatnonzero(np.diff(self._of)), len(ends) - 1)
        before = np.concatenate(([0], ends[whole[:-1]]))
        rate = self._serialised / (ends[whole] - before)
        return (self._bytes + _MESSAGE) * rate[self._of], (ends[whole][self._of] - ends) * rate[self._of]

    def _starts(self) -> Times:
        """The time from which the rate serves each frame, by Lindley's recursion: when it is written, and all that
        came before it has been served."""
        before = np.concatenate(([0.0], np.cumsum(self._serialised)[:-1]))[: len(self.written)]
        return np.asarray(np.maximum.accumulate(self.written - before) + before)
