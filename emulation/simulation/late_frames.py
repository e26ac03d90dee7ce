"""Frames that wait until TCP has sent packets of them again: they arrive in order, and sooner where damage ends.

1. The times at which a dropped packet is sent again are known at once, and so is the one that gets through, which is
   drawn by the share of packets that the link drops then.
2. When the link drops fewer from some time on, what was still to be sent again is drawn anew by the new share. So
   damage ends with its fault: at the latest, TCP waits as long again as it has waited.
3. Frames behind them wait for their turn.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from emulation.simulation.event_queue import EventQueue


@dataclass(slots=True)
class Repetitions:
    """A packet that was dropped."""

    sent: list[int]
    """Times at which it is sent again; the last time it gets through."""
    delay: int
    """Nanoseconds from there to its arrival."""

    @property
    def arrival(self) -> int:
        return self.sent[-1] + self.delay

    def draw_anew(self, now: int, dropped: float, source: random.Random) -> None:
        """From now on this share of packets is dropped, fewer than before."""
        for number, time in enumerate(self.sent[:-1]):
            if time > now and source.random() >= dropped:
                del self.sent[number + 1 :]
                return


@dataclass(slots=True)
class LateFrame:
    """A frame on its way. Times are nanoseconds."""

    at: int
    """The time of its arrival."""
    left_at: int
    """The time at which it has left the link whole."""
    whole: int
    """The time at which it would have left the link if no packet had been dropped."""
    latency: int
    """Time from the frame's leaving the link to its arrival."""
    repetitions: list[Repetitions]
    arrive: Callable[[int], None]
    """Called at its arrival, with `left_at`."""

    def following(self, now: int) -> int:
        """The next time at which it may arrive."""
        again = (time + each.delay + self.latency for each in self.repetitions for time in each.sent)
        return min((time for time in again if now < time < self.at), default=self.at)


class LateFrames:
    """The late frames of one direction, in order. An event is due at each time at which the first may arrive, so that
    none is left behind when it arrives sooner."""

    def __init__(self, events: EventQueue) -> None:
        self._events = events
        self._frames: deque[LateFrame] = deque()

    def __bool__(self) -> bool:
        return bool(self._frames)

    def add(self, frame: LateFrame) -> None:
        """Adds the latest frame."""
        self._frames.append(frame)
        if len(self._frames) == 1:
            self._events.at(frame.following(self._events.now), self._arrive)

    def draw_anew(self, dropped: float, source: random.Random) -> LateFrame:
        """From now on this share of packets is dropped, fewer than before. Returns the latest frame."""
        now = before = self._events.now
        for frame in self._frames:
            for each in frame.repetitions:
                each.draw_anew(now, dropped, source)
            frame.left_at = min(frame.left_at, max(before, frame.whole, *_arrivals(frame.repetitions)))
            frame.at = before = min(frame.at, max(before, frame.left_at + frame.latency))
        return self._frames[-1]

    def _arrive(self) -> None:
        frames, events = self._frames, self._events
        while frames and frames[0].at <= events.now:
            frame = frames.popleft()
            frame.arrive(frame.left_at)
        if frames:
            events.at(frames[0].following(events.now), self._arrive)


def _arrivals(repetitions: Iterable[Repetitions]) -> list[int]:
    return [each.arrival for each in repetitions]
