"""A simulated overlay in which publications say what the router of B1 does."""

from __future__ import annotations

from typing import Any

from broker_service.language.content import encode_predicates, encode_publication
from broker_service.messages import Operation
from record.time_units import SECOND
from tests.broker_service.scripted import SCRIPTED, SCRIPTS, script
from tests.emulation.simulation.test_overlay import Trial
from topology.link_properties import LinkProperties


class Scripted(Trial):
    """A client whose publications say what the router of B1 does."""

    def __init__(self, **settings: Any) -> None:
        super().__init__({("B1", "B2"): LinkProperties()}, protocol=SCRIPTED, **settings)
        self.attach("P", "B1")
        self.ask("P", Operation.ADVERTISE, "a1", encode_predicates(SCRIPTS.predicates))
        self._published = 0

    def do(self, actions: str) -> None:
        self._published += 1
        self.sessions["P"].submit("P", Operation.PUBLISH, f"p{self._published}", encode_publication(script(actions)))
        self.overlay.run_until(self.overlay.events.now)

    def settled_after(self) -> float:
        """Seconds that the overlay takes to settle."""
        begin = self.overlay.events.now
        self.overlay.settle()
        return (self.overlay.events.now - begin) / SECOND
