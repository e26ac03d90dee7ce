"""The contract of a deployment: one variant's overlay with its clients, on hosts in real time or in virtual time.

`emulation.run.variant` takes every variant through the same phases on any deployment. What differs between hosts and
the simulator (processes and links to be made, host and relay to be observed, time that passes by itself or is made to
pass) is behind this contract.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from broker_service.tracing.trace import Trace
from emulation.drivers.status import ClientCounts
from emulation.live_overlay import LiveOverlay, Tables
from emulation.live_overlay.contract import LiveSites
from emulation.run.hands import Hands
from emulation.verification.seen import FaultObserver
from emulation.verification.verifier import FaultVerifier
from scenario.faults import FaultSchedule
from topology.link_properties import BrokerId


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """The pace at which a run looks at a deployment."""

    rest: float
    """Seconds of quiet after which the drain phase may end."""
    counting_step: int
    """Longest time in nanoseconds between two looks at `counts` while a fault waits for a count."""
    longest_look: float
    """Seconds between two looks at whether messages move."""
    shortest_look: float
    """Seconds between two such looks towards the end of a phase."""

    def look_interval(self, left: float) -> float:
        """Seconds until the next look at whether messages move, when the phase still takes `left` seconds."""
        return min(self.longest_look, max(self.shortest_look, left / 3))


class Looks(Protocol):
    """Looks of a verifier in progress."""

    def renew(self) -> None:
        """To be called when the verifier wants to look at other times than before."""

    def end(self) -> None:
        """Returns once the verifier looks no more."""


class Deployment(Protocol):
    """One variant's overlay with its clients. Times are nanoseconds of `clock`, seconds where they are floats."""

    hands: Hands | None
    """The hands of whoever holds the run, once `start` has returned; None for a run that ends by itself."""

    sites: LiveSites
    """The hosts of clients, once `start` has returned."""

    elsewhere: frozenset[BrokerId]
    """Brokers of the overlay that are on other hosts."""

    @property
    def overlay(self) -> LiveOverlay:
        """The running overlay, once `start` has returned."""

    @property
    def schedule(self) -> FaultSchedule:
        """The schedule of the faults that this deployment injects."""

    @property
    def counts(self) -> ClientCounts:
        """Counts of the clients' operations and notifications so far."""

    @property
    def done(self) -> bool:
        """True once the clients have issued all their operations."""

    @property
    def pace(self) -> Pace:
        """The pace at which the run looks."""

    def clock(self) -> int: ...

    def start(self) -> list[str]:
        """Starts network, brokers and clients; returns when all are connected. Raises `HostError`, `Interrupted`.

        Returns the names under which the processes that act for clients log.
        """

    def open_event_log(self) -> Trace:
        """The log of faults and of changes of the overlay."""

    def begin(self) -> int:
        """Begins the workload; returns the time at which it begins, now or a little later."""

    def advance(self, until: int) -> None:
        """Lets time pass, at most until this time; returns earlier where something needs a look.

        Raises `Interrupted` when the user asks for the end.
        """

    def look(self) -> None:
        """Updates the display and notes what has ended by itself. Raises `HostError` where the run cannot go on."""

    def observing(self, seconds: float) -> AbstractContextManager[None]:
        """Measures hosts and links during the run phase, which takes that long."""

    @property
    def fault_observer(self) -> FaultObserver:
        """Looks at brokers and links from outside. Available once `start` has returned."""

    def look_regularly(self, verifier: FaultVerifier) -> Looks:
        """Has a verifier look whenever it wants to, until the looks are ended."""

    def drained(self) -> None:
        """Called when all messages have arrived on this host; waits for the other hosts that share the variant."""

    def leave(self, *nodes: str) -> None:
        """Ends the sessions of the clients of `nodes` (`PUBLISHERS` or `SUBSCRIBERS`). Brokers withdraw their
        subscriptions and advertisements."""

    def settle(self, within: float) -> None:
        """Waits, after clients have left, until no message moves on any host that shares the variant.

        Raises `UnsettledError` after `within` seconds.
        """

    def read_tables(self) -> Tables:
        """Routing tables after clients have left. Waits until every host that shares the variant has read its own."""

    def stop(self) -> None:
        """Stops brokers in order and ends whatever else runs, however far `start` has come."""

    def abandon(self) -> None:
        """Ends whatever runs without calling a broker's code again, because a defect was found in it."""
