"""The links of a simulated overlay: which there are, what becomes of them, and which broker's ends they have."""

from __future__ import annotations

import random
from collections.abc import Mapping
from functools import partial

from emulation.live_overlay import BrokerConfigs, BrokerSettings, MeshConfigs
from emulation.simulation.brokers import Mesh, SimulatedBroker
from emulation.simulation.links import Direction
from emulation.simulation.links_on_demand import LinkOnDemand
from emulation.simulation.open_sessions import OpenSessions
from emulation.simulation.overlay_link import SimulatedLink
from topology.link_properties import BrokerId, Link, LinkDirection, LinkProperties
from topology.model import Overlay


class SimulatedLinks:
    """The links of a simulated overlay (`LiveLinks`). In a large full mesh each is made when it is first used."""

    def __init__(
        self,
        overlay: Overlay,
        settings: BrokerSettings,
        configs: BrokerConfigs,
        running: Mapping[BrokerId, SimulatedBroker],
        *,
        sessions: OpenSessions,
    ) -> None:
        """`running` has the brokers that run at any time; `sessions` know the access links."""
        self._sessions = sessions
        self._overlay = overlay
        self._settings = settings
        self._configs = configs
        self._running = running
        self._events = sessions.events
        self._random = random.Random(f"{settings.seed}:simulation")
        self._links: dict[SimulatedLink, None] = {}
        """All present links, in the order in which they appeared; of a mesh with links on demand, the used ones."""
        self._links_of: dict[BrokerId, dict[BrokerId, SimulatedLink]] = {broker.id: {} for broker in overlay.brokers}
        """Links of `_links` by the brokers at both ends."""
        on_demand = isinstance(configs, MeshConfigs)
        self.mesh = Mesh(configs.attributes, configs.link, self._connect_on_demand) if on_demand else None
        """Mesh whose links are made on demand; None where all links are made at the beginning."""
        for link in () if on_demand else overlay.links:
            self._make(link)

    def between(self, a: BrokerId, b: BrokerId) -> SimulatedLink:
        """The link between two brokers, made if it is on demand. Raises `KeyError` for brokers without a link."""
        links = self._links_of[a]
        return self._make(self._overlay.link(a, b)) if self.mesh is not None and b not in links else links[b]

    def known(self, a: BrokerId, b: BrokerId) -> SimulatedLink | None:
        """The link between two brokers; None for one that is not there, or that was not used so far."""
        return self._links_of.get(a, {}).get(b)

    def twin(self, direction: LinkDirection, seed: str) -> Direction | None:
        """A direction in the state of this one, to be looked at; None for a link that is not there, or that was not
        used so far."""
        if (access := self._sessions.access_links.with_direction(direction)) is not None:
            return access.twin(direction, seed)
        link = self.known(direction.source, direction.target)
        return None if link is None else link.directions[direction.source].twin(seed)

    # Links that appear and vanish

    def add(self, link: Link) -> None:
        """A broker that is frozen learns of its neighbour once it continues, one that is down when it is restarted."""
        self._configs.add_link(link)
        made = self._make(link)
        for broker in (link.a, link.b):
            if broker in self._running:
                self._running[broker].when_running(partial(self._join, broker, made))
        connect = made.connect  # behind what either broker still has to do, which may be to join
        for broker in (link.a, link.b):
            if broker in self._running:
                connect = partial(self._running[broker].in_turn, connect)
        connect()

    def remove(self, a: BrokerId, b: BrokerId) -> None:
        """Parts two brokers. One that is frozen learns of it once it continues, one that is down when it is
        restarted."""
        self._configs.remove_link(a, b)
        link = self._links_of[a].pop(b)
        del self._links_of[b][a], self._links[link]
        link.vanish()
        for broker in (a, b):
            if broker in self._running:
                self._running[broker].when_running(partial(self._part, broker, link))

    # Faults of links

    def cut(self, direction: LinkDirection) -> None:
        """Both directions fail soon after one is cut: the end that receives nothing gives the link up."""
        if (access := self._sessions.access_links.with_direction(direction)) is not None:
            self._sessions.cut(access, direction)
        else:
            self.between(direction.source, direction.target).cut(direction.source)

    def restore(self, direction: LinkDirection) -> None:
        """Restores a cut direction: messages that it held arrive, or a new stream is opened."""
        if (access := self._sessions.access_links.with_direction(direction)) is not None:
            self._sessions.restore(access, direction)
        else:
            self.between(direction.source, direction.target).restore(direction.source)

    def change(self, direction: LinkDirection, properties: LinkProperties) -> None:
        if (access := self._sessions.access_links.with_direction(direction)) is not None:
            access.change(direction, properties)
            return
        source, target = direction.source, direction.target
        directions = self.between(source, target).directions
        directions[source].change(properties)
        directions[target].change_way_back(properties)
        if properties.send_time != self._configs.link(source, target).send_time:
            self._configs.change_send_time(direction, properties.send_time)
            if source in self._running:
                running = self._running[source]
                running.when_running(partial(running.core.neighbours.change_send_time, target, properties.send_time))

    def corrupt(self, direction: LinkDirection, share: float) -> None:
        if (access := self._sessions.access_links.with_direction(direction)) is not None:
            access.corrupt(direction, share)
        else:
            self.between(direction.source, direction.target).directions[direction.source].corrupt(share)

    # A broker's links

    def connect_all(self) -> None:
        """Opens the streams of all links."""
        for link in self._links:
            link.connect()

    def attach(self, started: SimulatedBroker) -> None:
        """Gives the links of a broker that starts their ends at it."""
        broker = started.config.id
        for neighbour, link in self._links_of[broker].items():
            link.attach(broker, started.ends[neighbour])

    def reconnect(self, broker: BrokerId) -> None:
        """Opens the streams of a restarted broker, those that it dials at once."""
        for link in self._links_of[broker].values():
            if link.a == broker:
                link.connect()
            else:
                link.connect_soon()

    def freeze(self, broker: BrokerId) -> None:
        """Neighbours of a broker that is frozen miss its heartbeats."""
        for link in self._links_of[broker].values():
            link.silences.note()

    def thaw(self, broker: BrokerId) -> None:
        """Undoes `freeze`."""
        for link in self._links_of[broker].values():
            link.thaw(broker)

    def lose(self, broker: BrokerId) -> None:
        """Neighbours find out that a broker has ended."""
        for link in self._links_of[broker].values():
            link.lose(broker)

    # Inside

    def _make(self, link: Link) -> SimulatedLink:
        """Each appearance of a link draws from streams of its own, so that it does not repeat the former one's."""
        appearance = self._configs.link(link.a, link.b).appearance
        seed = f"{self._settings.seed}" if appearance == 1 else f"{self._settings.seed}:{appearance}"
        kind = SimulatedLink if self.mesh is None else LinkOnDemand
        made = kind(link, self._events, self._settings.limits, self._random, seed)
        self._links_of[link.a][link.b] = self._links_of[link.b][link.a] = made
        self._links[made] = None
        return made

    def _connect_on_demand(self, broker: BrokerId, neighbour: BrokerId) -> None:
        """Has a broker open a stream to a neighbour over a link that is made on demand."""
        link = self.between(broker, neighbour)
        for end, other in ((broker, neighbour), (neighbour, broker)):
            running = self._running.get(end)
            if running is not None and link.ends[end] is None:
                link.attach(end, running.end(other))
        link.connect(broker)

    def _join(self, broker: BrokerId, link: SimulatedLink) -> None:
        """Has a broker know a neighbour, unless the link has vanished while the broker was frozen."""
        neighbour, running = link.other(broker), self._running.get(broker)
        if running is not None and self._links_of[broker].get(neighbour) is link and neighbour not in running.ends:
            link.attach(broker, running.add_link(self._configs.link(broker, neighbour)))

    def _part(self, broker: BrokerId, link: SimulatedLink) -> None:
        """Has a broker forget a neighbour, if it ever knew it over this link."""
        neighbour, running, end = link.other(broker), self._running.get(broker), link.ends[broker]
        if running is not None and end is not None and running.ends.get(neighbour) is end:
            running.remove_link(neighbour)
