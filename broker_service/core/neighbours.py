"""Neighbours of a broker: links to them that come up, go down, appear and vanish."""

from __future__ import annotations

from collections.abc import Callable, Container, MutableMapping

from broker_service.config import Disturbance, LinkConfig
from broker_service.core.actions import ActionExecutor
from broker_service.core.surroundings import Surroundings
from broker_service.links.overlay_link import OverlayLink
from broker_service.links.sending import Turns
from broker_service.links.session import LinkSession
from broker_service.messages import BrokerId
from broker_service.routing.interface import FollowsNeighbours
from broker_service.routing.outside import label
from record.log import Event
from record.service_time import SendingOrder, ServiceTime

MakeLink = Callable[[LinkConfig], OverlayLink]


def link_maker(surroundings: Surroundings) -> MakeLink:
    """Function that makes this broker's ends of links, which share the turns of sending where the configuration says
    so."""
    config = surroundings.config
    turns = Turns() if config.sending is SendingOrder.IN_TURN else None

    def make_link(link: LinkConfig) -> OverlayLink:
        return OverlayLink(
            link.neighbour,
            config.limits,
            surroundings.clock,
            surroundings.recorder,
            attributes=link.attributes,
            appearance=link.appearance,
            send_times=config.send_times(link.neighbour, link.appearance, link.send_time),
            turns=turns,
        )

    return make_link


class Neighbours:
    """The neighbours of one broker, as the sessions of its links see them.

    Every call that reaches the router raises `BrokerDefectError` when the broker's own code fails.
    """

    def __init__(
        self,
        surroundings: Surroundings,
        actions: ActionExecutor,
        links: MutableMapping[BrokerId, OverlayLink],
        make_link: MakeLink,
        *,
        linked: Container[BrokerId],
        change: bool,
    ) -> None:
        """`links` are those that were made, `linked` all neighbours: in a mesh, links are made when they are first
        used. `change` is true where the routing protocol bears other neighbours."""
        self.id = surroundings.config.id
        """The broker's own identifier, which its hellos carry, as the next."""
        self.incarnation = surroundings.config.incarnation
        self.change = change
        """True when the routing protocol bears other neighbours."""
        self._surroundings = surroundings
        self._links = links
        self._linked = linked
        self._router = actions.router
        self._actions = actions
        self._make_link = make_link
        self._recorder = surroundings.recorder
        self._defects = surroundings.defects
        self._disturber = actions.disturber
        self.receive = actions.receive
        """Handles messages from a link, as `ActionExecutor.receive` does."""

    @property
    def held(self) -> int:
        """Messages that are held back, by a disturbance."""
        return self._disturber.held

    def cancel_timers(self) -> None:
        """Forgets the messages that are held back."""
        self._disturber.cancel_all()

    def session_of(self, link: OverlayLink, heartbeat: float | None, first_beat: float = 1.0) -> LinkSession:
        """The session of a link, which a shell drives; `heartbeat` and `first_beat` are those of `LinkSession`."""
        config = self._surroundings.config
        return LinkSession(
            self, link, label(config.protocol), config.limits, heartbeat,
            first_beat=first_beat, latest=config.latest_incarnation(link.neighbour),
        )  # fmt: skip

    def disturb(self, neighbour: BrokerId, disturbance: Disturbance) -> None:
        """Disturbs messages that come from a neighbour from now on; an empty disturbance ends that.

        Raises `ValueError` for a broker that is no neighbour.
        """
        self.require(neighbour)
        self._disturber.set(neighbour, disturbance)

    def change_send_time(self, neighbour: BrokerId, send_time: ServiceTime) -> None:
        """Gives the link to a neighbour another send time, from the next message on.

        Raises `ValueError` for a broker that is no neighbour.
        """
        self.require(neighbour)
        link = self._links[neighbour]
        link.change_send_times(self._surroundings.config.send_times(neighbour, link.appearance, send_time))

    def link_up(self, neighbour: BrokerId, incarnation: int, handled: int) -> None:
        """The stream to a neighbour is open; it has handled that many messages of this broker's incarnation before.

        Raises `ValueError` when that number is impossible; the link stays down then. The router is not notified of a
        link that has rested: for it, the link was up all the time.
        """
        link = self._links[neighbour]
        has_rested = link.up and link.neighbour_incarnation == incarnation
        link.connect(incarnation, handled)
        if has_rested:
            return
        self._recorder.note(Event.LINK_UP, peer=neighbour, count=incarnation)
        with self._defects.handling("the link to {} coming up", neighbour, "link_up"):
            self._actions.perform(self._router.link_up(neighbour, incarnation))

    def link_down(self, neighbour: BrokerId) -> None:
        """The stream to a neighbour broke, or the neighbour is silent."""
        link = self._links[neighbour]
        link.disconnect()
        self._recorder.note(Event.LINK_DOWN, peer=neighbour, count=link.neighbour_incarnation)
        with self._defects.handling("the link to {} going down", neighbour, "link_down"):
            self._actions.perform(self._router.link_down(neighbour))

    def require_change(self) -> None:
        """Raises `ValueError` unless the routing protocol bears other neighbours."""
        if not self.change:
            protocol = self._surroundings.config.protocol
            raise ValueError(f"neighbours of a broker that routes by {protocol} do not change while it runs")

    def require(self, broker: BrokerId) -> None:
        """Raises `ValueError` unless this broker is a neighbour."""
        if broker not in self._linked:
            raise ValueError(f"{self.id} and {broker} are not linked")

    def add(self, config: LinkConfig) -> OverlayLink:
        """A broker has become a neighbour. Its link is down until the shell opens a stream.

        Raises `ValueError` for a broker that is a neighbour already, and where the routing protocol does not bear it.
        """
        self.require_change()
        if config.neighbour in self._links or config.neighbour == self.id:
            raise ValueError(f"{self.id} and {config.neighbour} are linked already")
        link = self._links[config.neighbour] = self._make_link(config)
        self._recorder.note(Event.LINK_ADDED, peer=link.neighbour, count=link.appearance)
        if isinstance(self._router, FollowsNeighbours):
            with self._defects.handling("the appearance of the neighbour {}", link.neighbour, "neighbour_added"):
                self._actions.perform(self._router.neighbour_added(link.neighbour))
        return link

    def remove(self, neighbour: BrokerId) -> None:
        """Makes a broker a neighbour no more, and drops what its link holds; the shell has ended its streams before.

        Raises `ValueError` for a broker that is no neighbour, and where the routing protocol does not bear it.
        """
        self.require_change()
        self.require(neighbour)
        link = self._links.pop(neighbour)
        link.vanish()
        self._disturber.set(neighbour, Disturbance())
        self._recorder.note(Event.LINK_REMOVED, peer=neighbour, count=link.appearance)
        if isinstance(self._router, FollowsNeighbours):
            with self._defects.handling("the disappearance of the neighbour {}", neighbour, "neighbour_removed"):
                self._actions.perform(self._router.neighbour_removed(neighbour))
