"""Relative delay penalty of notifications (MEDYM, section 6).

The *relative delay penalty* (RDP) of a notification at another broker than the publisher's is its delay over the
latency of the direct link between the two brokers. Its delay counts from the time at which the publication was due.
Below 1, the publication's way over other brokers was faster than the direct one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from topology.link_properties import BrokerId
from topology.model import Overlay

_ROUNDING = 1e-6
"""Largest relative error of a delay, because logs have whole nanoseconds."""


class DelayPenalties(NamedTuple):
    """The penalties of notifications, in the order in which these were given."""

    penalties: NDArray[np.float64]
    latencies: NDArray[np.float64]
    """Latencies of the direct links, in seconds."""

    @property
    def below_direct(self) -> float:
        """Share of the notifications that were faster than the direct link; not a number without any."""
        return float((self.penalties < 1 - _ROUNDING).mean())


class DirectLinks:
    """Latencies of the direct links of an overlay in which all brokers are linked."""

    def __init__(self, overlay: Overlay) -> None:
        self._overlay = overlay
        self._known: dict[tuple[BrokerId, BrokerId], float] = {}
        """Each latency is looked up once, because a full mesh makes its links anew."""

    def penalties(self, delays_ms: Iterable[float], paths: Iterable[Sequence[BrokerId]]) -> DelayPenalties:
        """The penalties of notifications, given the delay and the path of each over two brokers or more.

        Notifications over a direct link without a delay have none and are left out.
        """
        delays = np.fromiter(delays_ms, np.float64) / 1000
        latencies = np.fromiter((self._latency(path[0], path[-1]) for path in paths), np.float64)
        delayed = latencies > 0
        return DelayPenalties(delays[delayed] / latencies[delayed], latencies[delayed])

    def _latency(self, a: BrokerId, b: BrokerId) -> float:
        """Delay of the link from one broker to another, in seconds."""
        found = self._known.get((a, b))
        if found is None:
            found = self._known[a, b] = self._overlay.link(a, b).properties_from(a).delay
        return found
