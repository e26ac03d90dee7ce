"""The contracts of a running overlay, in real and in virtual time: what can be done to its brokers, and to its links.

One scenario, one conformance case and one schedule of faults run on every implementation, and what passes on one must
pass on the others. Calls return when they are done, and raise `HostError` when the host refuses.

Whoever brings an overlay up and takes it down knows what it is made of, and needs no contract for that; a run asks its
`Deployment` (`emulation.run.deployment`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from broker_service.config import Disturbance
from broker_service.grpc_shell.status import BrokerStatus
from record.service_time import ServiceTime
from topology.link_properties import BrokerId, Link, LinkDirection, LinkProperties
from topology.model import Overlay
from topology.sites import ClientHost, Move, Site

Tables = Mapping[BrokerId, Mapping[str, object]]
"""Routing tables by broker, as `Broker.tables` shows them."""


class UnsettledError(Exception):
    """The overlay does not come to rest, or not up, in the time given; the text names the obstacle."""


class LiveBrokers(Protocol):
    """Brokers that run, and the faults that can be injected into them.

    `resume`, `throttle(None)` and `slow(None)` have no effect on a broker that is down: it restarts with its own
    settings.
    """

    def runs(self, broker: BrokerId) -> bool:
        """True of a broker that is not down; one that is paused runs, too."""

    def kill(self, broker: BrokerId) -> None:
        """Ends a broker as a crash does. Its links stay. It must run, as for the other faults of brokers."""

    def stop(self, broker: BrokerId) -> None:
        """Ends a broker in order: it passes on what waits."""

    def restart(self, broker: BrokerId) -> None:
        """Starts a new incarnation of a broker, with empty tables."""

    def pause(self, broker: BrokerId) -> None:
        """Freezes a broker; its connections stay open."""

    def resume(self, broker: BrokerId) -> None:
        """Undoes `pause`."""

    def throttle(self, broker: BrokerId, cores: float | None) -> None:
        """Limits a broker to that many CPU cores; None: to those of the scenario."""

    def slow(self, broker: BrokerId, service_time: ServiceTime | None) -> None:
        """Gives a broker another service time; None: its own."""

    def reset(self, direction: LinkDirection) -> None:
        """Has the broker at which the direction begins close its stream over the link, which opens another one."""

    def disturb(self, direction: LinkDirection, disturbance: Disturbance) -> None:
        """Has the broker at which the direction ends disturb its messages from now on; empty: no longer."""

    def status(self) -> Mapping[BrokerId, BrokerStatus]:
        """Status of the running brokers; one that does not answer is missing."""

    def tables(self) -> Tables:
        """Routing tables of the running brokers; one that does not answer is missing."""


class LiveLinks(Protocol):
    """Links between brokers, and the changes and faults that can happen to them.

    The emulated network of a host and the links of an overlay on it fulfil the same contract: the latter tell brokers
    what they have to know, too.
    """

    def add(self, link: Link) -> None:
        """Links two brokers, which know each other as neighbours from then on. A former link of theirs is forgotten.

        Raises `ValueError` for brokers that are linked already, and for a routing protocol whose options do not declare
        `neighbours_change`.
        """

    def remove(self, a: BrokerId, b: BrokerId) -> None:
        """Makes the link of two brokers vanish, with whatever it holds. Raises `ValueError` as `add` does."""

    def cut(self, direction: LinkDirection) -> None:
        """Drops whatever is sent in this direction from now on."""

    def restore(self, direction: LinkDirection) -> None:
        """Undoes `cut`."""

    def change(self, direction: LinkDirection, properties: LinkProperties) -> None:
        """Gives whatever is sent in this direction from now on other properties."""

    def corrupt(self, direction: LinkDirection, share: float) -> None:
        """Damages this share of the frames sent in this direction from now on; 0 ends it."""


class LiveSites(Protocol):
    """The hosts of clients, and the faults that can be injected into them."""

    @property
    def sites(self) -> Sequence[Site]:
        """All sites, in order; none where clients are beside their brokers."""

    def end(self, host: ClientHost) -> None:
        """Ends a host's clients as a crash does; their kernel resets their connections, if it can be heard."""

    def come_back(self, host: ClientHost) -> None:
        """Has the clients of a host run again, unless another host of theirs has ended, too."""

    def pause(self, host: ClientHost) -> None:
        """Freezes a host's clients: they send nothing and take nothing, and their connections stay open."""

    def resume(self, host: ClientHost) -> None:
        """Undoes `pause`, unless another host of theirs is paused, too."""

    def depart(self, move: Move) -> None:
        """Takes the present access link of a move's clients from them: in order, unless the move is unannounced. What
        they do from then on waits for the next one, or goes over the one that they have after `arrive`."""

    def arrive(self, move: Move) -> None:
        """Gives a move's clients the access link of its goal, over which they open sessions that take over what they
        have declared. Of a hard handover it follows `depart`, of a soft one it comes before that."""


class NoSites:
    """`LiveSites` of clients beside their brokers."""

    sites: Sequence[Site] = ()

    def end(self, host: ClientHost) -> None:
        raise ValueError(f"{host} is not there")

    come_back = pause = resume = end

    def depart(self, move: Move) -> None:
        self.end(move.host)

    arrive = depart


class QuietWatch(Protocol):
    """Repeated looks at an overlay, which is quiet when no message moved between two of them."""

    @property
    def busy(self) -> list[BrokerId]:
        """Brokers that were not quiet at the latest look."""

    @property
    def quiet_for(self) -> float:
        """Seconds for which the overlay has been quiet; 0 while it is not. Infinite in virtual time once it is."""

    def look(self, end: int) -> None:
        """Looks once more. A look that takes until after `end`, nanoseconds of the overlay's clock, does not count."""


class LiveOverlay(Protocol):
    """A running overlay: its brokers, its links, and whether anything moves in it."""

    @property
    def overlay(self) -> Overlay:
        """The overlay as it was started, without later changes of its links."""

    @property
    def brokers(self) -> LiveBrokers: ...

    @property
    def links(self) -> LiveLinks: ...

    def quiet_watch(self) -> QuietWatch:
        """A watch that has not looked yet."""

    def settle(self, within: float) -> None:
        """Returns when nothing moves and every link that should work is up. Raises `UnsettledError`."""
