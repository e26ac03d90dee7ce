"""The shaping of frames: one direction of a link as a plain object, in the time of its caller's clock.

Rules, in the order in which they apply to a frame:

1. A link that is down drops frames that enter. Frames in flight still arrive, as on a wire that was cut behind them.
2. Loss is drawn for each frame independently, at the entrance: a lost frame uses none of the rate (as in netem under
   HTB).
3. The rate serialises: a frame takes `size * 8 / rate` and starts when the one before it ended. Of the frames that have
   arrived and not started, `queue_limit` may wait; a frame on top is dropped. Size is that of the Ethernet frame
   without preamble and check sequence, as the kernel's queueing disciplines count it.
4. Delay and jitter follow. Jitter is drawn for each frame independently; a sum below zero counts as zero.
5. Frames never overtake each other: a frame that would leaves together with the frame before it. Frames whose distance
   is smaller than the jitter are therefore later on average than their delay. (netem is configured to behave the same
   way, see `network/netem.py`.)

Changed properties apply to frames that enter from then on; frames in flight keep their time.
"""

from __future__ import annotations

import enum
import math
import random
import statistics
from collections import deque
from functools import cache
from typing import Final

from record.time_units import SECOND
from topology.link_properties import JitterDistribution, LinkProperties

PARETO_SHAPE = 3.0
"""The shape of netem's table: the smallest integer with a finite variance."""

_TABLE_BITS: Final = 12
_TABLE_SIZE = 1 << _TABLE_BITS


class DropReason(enum.IntEnum):
    """The reason why a frame never leaves. The values are negative, which times are not."""

    LOSS = -1
    QUEUE = -2
    DOWN = -3


_PLAIN: Final = LinkProperties()
_LOSS: Final = int(DropReason.LOSS)
_QUEUE: Final = int(DropReason.QUEUE)
_DOWN: Final = int(DropReason.DOWN)


class Shaper:
    """One direction of a link. Times are integers, in nanoseconds of any clock that does not run backwards."""

    __slots__ = (
        "_backlog",
        "_bits",
        "_delay",
        "_free",
        "_jitter",
        "_last",
        "_loss",
        "_per_byte",
        "_quantiles",
        "_queue_limit",
        "_random",
        "_seed",
        "up",
    )

    def __init__(self, properties: LinkProperties, seed: str) -> None:
        self._seed: str | None = seed
        """Seed of the generator; None once there is one. It takes 2.5 KB, and most links never need it."""
        self._backlog: deque[int] | None = None
        """The times at which the frames that are not yet wholly on the wire will be; None until there is a rate."""
        self._free = 0  # when the last of them will be
        self._last = 0  # when the last frame admitted leaves
        self.up = True
        self.change(properties)

    def change(self, properties: LinkProperties) -> None:
        """Gives frames that arrive from now on these properties."""
        self._delay = round(properties.delay * SECOND)
        self._loss = properties.loss
        self._per_byte = 0.0 if properties.rate is None else 8 * SECOND / properties.rate
        if self._backlog is None and properties.rate is not None:
            self._backlog = deque()
        self._queue_limit = properties.queue_limit
        self._jitter = properties.jitter * SECOND
        self._quantiles = standard_quantiles(properties.distribution) if properties.jitter else ()
        if self._seed is not None and (properties.loss or properties.jitter):
            generator, self._seed = random.Random(self._seed), None
            self._random, self._bits = generator.random, generator.getrandbits

    def twin(self, seed: str) -> Shaper:
        """A shaper in the same state, which draws from a stream of its own: what it admits changes nothing here."""
        twin = Shaper(_PLAIN, seed)
        twin.up, twin._free, twin._last = self.up, self._free, self._last
        twin._backlog = None if self._backlog is None else self._backlog.copy()
        twin._delay, twin._loss, twin._per_byte = self._delay, self._loss, self._per_byte
        twin._queue_limit, twin._jitter, twin._quantiles = self._queue_limit, self._jitter, self._quantiles
        if self._loss or self._quantiles:
            generator, twin._seed = random.Random(seed), None
            twin._random, twin._bits = generator.random, generator.getrandbits
        return twin

    @property
    def last_leaves(self) -> int:
        """The time at which the last frame admitted leaves, before which none after it does."""
        return self._last

    def admit(self, now: int, size: int) -> int:
        """Admit a frame of `size` bytes at `now`; returns the time at which it leaves, or a `DropReason`."""
        if not self.up:
            return _DOWN
        if self._loss and self._random() < self._loss:
            return _LOSS
        sent = now
        if self._per_byte:
            backlog = self._backlog
            assert backlog is not None
            if self._free <= now:
                backlog.clear()
            else:
                sent = self._free
                while backlog[0] <= now:
                    backlog.popleft()
                if len(backlog) > self._queue_limit:
                    return _QUEUE
            self._free = sent = sent + int(size * self._per_byte)
            backlog.append(sent)
        due = sent + self._delay
        if self._quantiles:
            due += round(self._quantiles[self._bits(_TABLE_BITS)] * self._jitter)
            due = due if due > sent else sent  # a call of max() takes as long as the rest
        self._last = due = due if due > self._last else self._last
        return due


def needs_single_frames(properties: LinkProperties) -> bool:
    """True if segments of a TCP stream, up to 64 KiB, must pass as single frames, because rate or loss counts
    frames."""
    return properties.rate is not None or properties.loss > 0


@cache
def standard_quantiles(distribution: JitterDistribution) -> tuple[float, ...]:
    """Quantiles of a distribution of jitter around zero, at equal steps of probability.

    Normal and Pareto (shape 3) have standard deviation 1, the uniform distribution has half-width 1.
    """
    steps = [(index + 0.5) / _TABLE_SIZE for index in range(_TABLE_SIZE)]
    if distribution is JitterDistribution.UNIFORM:
        return tuple(2 * step - 1 for step in steps)
    if distribution is JitterDistribution.NORMAL:
        values = [statistics.NormalDist().inv_cdf(step) for step in steps]
    else:
        values = [math.pow(1 - step, -1 / PARETO_SHAPE) for step in steps]
    mean, deviation = statistics.fmean(values), statistics.pstdev(values)
    return tuple((value - mean) / deviation for value in values)
