"""The links of an overlay whose brokers run on this host: those of its network, of which brokers are told."""

from __future__ import annotations

from functools import partial

from emulation.live_overlay import BrokerConfigs, ExpectedOverlay, LiveLinks
from emulation.runtimes.host_brokers import HostBrokers
from topology.link_properties import BrokerId, Link, LinkDirection, LinkProperties


class HostLinks:
    """`LiveLinks` of this host's network, whose changes brokers learn of as far as they concern them."""

    def __init__(
        self, configs: BrokerConfigs, network: LiveLinks, brokers: HostBrokers, expected: ExpectedOverlay
    ) -> None:
        """`expected` learns which links are present and cut."""
        self._configs = configs
        self._network = network
        self._brokers = brokers
        self._controls = brokers.controls
        self._expected = expected

    def add(self, link: Link) -> None:
        """Adds a link, for which the network must have a path.

        `b` is told of it first, because `a` dials. A broker that is paused learns of the link once it continues, one
        that is down when it is restarted.
        """
        self._configs.add_link(link)
        self._network.add(link)
        self._expected.links.append(link)
        for broker, neighbour in ((link.b, link.a), (link.a, link.b)):
            end = self._configs.link(broker, neighbour)
            self._brokers.request(broker, partial(self._controls.add_link, broker, end))

    def remove(self, a: BrokerId, b: BrokerId) -> None:
        """Removes a link. Its path is closed after the two brokers have closed their streams over it.

        A broker that is paused learns of the removal once it continues, one that is down when it is restarted.
        """
        self._configs.remove_link(a, b)
        self._expected.links[:] = [link for link in self._expected.links if {link.a, link.b} != {a, b}]
        for broker, neighbour in ((a, b), (b, a)):
            self._brokers.request(broker, partial(self._controls.remove_link, broker, neighbour))
        self._network.remove(a, b)

    def cut(self, direction: LinkDirection) -> None:
        self._network.cut(direction)
        self._expected.cut.add(direction)

    def restore(self, direction: LinkDirection) -> None:
        self._network.restore(direction)
        self._expected.cut.discard(direction)

    def change(self, direction: LinkDirection, properties: LinkProperties) -> None:
        source, target = direction.source, direction.target
        self._network.change(direction, properties)
        if not any({link.a, link.b} == {source, target} for link in self._expected.links):
            return  # no broker knows of an access link
        if properties.send_time != self._configs.link(source, target).send_time:
            self._configs.change_send_time(direction, properties.send_time)
            self._brokers.request(source, partial(self._controls.set_send_time, source, target, properties.send_time))

    def corrupt(self, direction: LinkDirection, share: float) -> None:
        self._network.corrupt(direction, share)
