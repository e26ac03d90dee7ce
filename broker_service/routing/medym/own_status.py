"""Status of a server that others learn of: its location and its load (section 4.2.2)."""

from __future__ import annotations

from collections.abc import Sequence

from broker_service.routing.interface import RouterContext, Send, SetTimer, TimerKey
from broker_service.routing.medym.locations.round_trips import KnownLocations
from broker_service.routing.medym.messages import Bundle, Status, control_message
from broker_service.routing.medym.multicast.decisions import Decisions
from broker_service.routing.medym.options import MedymOptions
from broker_service.routing.medym.timer_keys import Timer


class Load:
    """Publications that a server has sent to neighbours, and received, since its start (BalancedMST, section 4.1).

    What a client of this server publishes counts as received.
    """

    def __init__(self, threshold: float) -> None:
        """`threshold` is OT: above this ratio of sent to received publications, a server is overloaded."""
        self.sent = 0
        self.received = 0
        self.overloaded = False
        """True when the server was overloaded at the last look."""
        self._threshold = threshold

    def has_changed(self) -> bool:
        """Looks at the counts. True when the server has become overloaded since the last look, or is so no more.

        A server that has received nothing is not overloaded.
        """
        former = self.overloaded
        self.overloaded = self.sent > self._threshold * self.received
        return self.overloaded != former


class OwnStatus:
    """Status of one server, which is looked at now and then where servers use the locations or the loads of others."""

    def __init__(
        self,
        context: RouterContext[MedymOptions],
        locations: KnownLocations,
        decisions: Decisions,
        load: Load,
        running: set[TimerKey],
    ) -> None:
        """`running` are the server's timers that run."""
        options = context.options
        self.changed: Status | None = None
        """A status that is yet to be announced."""
        self._used = options.locations != "given" or options.algorithm == "balanced"
        self._every = options.status_every
        self._broker = context.broker
        self._links = context.links
        self._locations = locations
        self._decisions = decisions
        self._load = load
        self._running = running

    def start(self) -> Sequence[SetTimer]:
        """Has this server look at its round trips and its load in a while."""
        if not self._used or Timer.STATUS in self._running:
            return ()
        self._running.add(Timer.STATUS)
        return (SetTimer(Timer.STATUS, self._every),)

    def look(self) -> list[Send]:
        """Looks at round trips and load. Returns messages that open links that are made on demand, so that their round
        trips are measured."""
        load, location = self._load.has_changed(), self._locations.measure(self._links)
        unmeasured = list(self._locations.unmeasured(self._links))
        if location:
            self._decisions.forget()
        if load or location:
            self.changed = self._present()
        if not unmeasured:
            return []
        message = control_message(self._broker, Bundle(()))
        return [Send(neighbour, message) for neighbour in unmeasured]

    def present(self) -> Status | None:
        """The status as others need it now; None where they use none."""
        return self._present() if self._used else None

    def _present(self) -> Status:
        return Status(self._locations.announced(), self._load.overloaded)
