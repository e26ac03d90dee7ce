"""An overlay in virtual time with one publisher and one subscriber, for tests of faults."""

from __future__ import annotations

from typing import Any

from record.log import Event
from tests.emulation.simulation.test_overlay import MILLISECOND, Trial, line
from topology.link_properties import LinkDirection, LinkProperties

SECOND = 1000 * MILLISECOND
B12, B21, B23 = LinkDirection("B1", "B2"), LinkDirection("B2", "B1"), LinkDirection("B2", "B3")


class Faulty(Trial):
    """A publisher at B1 and a subscriber at B3, and somebody who breaks things."""

    def __init__(self, links: dict[tuple[str, str], LinkProperties] | None = None, **settings: Any) -> None:
        super().__init__(links or line(delay=0.001), **settings)
        self.one_publisher_one_subscriber("B1", "B3")

    def wait(self, seconds: float) -> None:
        self.overlay.run_until(self.overlay.events.now + round(seconds * SECOND))

    def delay(self, id: str, published: int) -> float | None:
        """Milliseconds; None: not notified."""
        got = dict(self.notified["S"])
        return (got[id] - published) / MILLISECOND if id in got else None

    def breaks(self, broker: str) -> list[str]:
        return [record.peer or "" for record in self.traces[broker].records if record.event is Event.LINK_DOWN]
