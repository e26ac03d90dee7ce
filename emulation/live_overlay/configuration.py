"""Configuration of an overlay's brokers: the one place that makes a `BrokerConfig`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import msgspec

from broker_service.config import HOPS_BEYOND_BROKERS, BrokerConfig, Disturbance, Limits, LinkConfig
from broker_service.routing import protocol_named
from broker_service.routing.registry import is_ours
from record.sample import PublicationSample
from record.service_time import SendingOrder, ServiceTime
from topology.link_properties import BrokerId, Link, LinkDirection
from topology.model import Overlay


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerSettings:
    """Settings that all brokers of an overlay share."""

    protocol: str
    options: Mapping[str, object] = field(default_factory=dict)
    """The protocol's own options, as in the scenario's `routing` section."""
    seed: int = 0
    sample: PublicationSample | None = None
    """The publications whose whole lives brokers log; None: all."""
    limits: Limits = field(default_factory=Limits)
    service_time: ServiceTime = field(default_factory=ServiceTime)
    """Work added to each message, as `BrokerConfig.service_time`."""
    sending: SendingOrder = SendingOrder.SIDE_BY_SIDE
    """Order of the sendings over a broker's links, as `BrokerConfig.sending`."""
    variant: str = "base"
    prepared: Mapping[BrokerId, bytes] = field(default_factory=dict)
    """Result of the protocol's `prepare`, by broker."""
    starts: Mapping[BrokerId, int] | None = None
    """The number of times that brokers start, as `BrokerConfig.starts`."""


@dataclass(frozen=True, slots=True)
class BrokerFiles:
    """Paths of one broker's files, as the broker itself sees them."""

    socket: str = ""
    """Unix socket for clients and control; empty: none."""
    log: str = ""
    """Empty: nothing is logged."""
    stored: str = ""
    """Stable storage of its router. Empty: what the router stores is lost with the process."""


@dataclass(frozen=True, slots=True)
class LinkAddresses:
    """`host:port` of a link's ends `a` and `b`, of which `a` dials."""

    a: str = ""
    b: str = ""


def no_files(_broker: BrokerId) -> BrokerFiles:
    """Files of brokers that are objects in this process: none."""
    return BrokerFiles()


def no_addresses(_link: Link) -> LinkAddresses:
    """Addresses of links that are modelled: none."""
    return LinkAddresses()


class BrokerConfigs:
    """Configurations of an overlay's brokers, for each start of each of them."""

    def __init__(
        self,
        overlay: Overlay,
        settings: BrokerSettings,
        *,
        files: Callable[[BrokerId], BrokerFiles] = no_files,
        addresses: Callable[[Link], LinkAddresses] = no_addresses,
        links: Iterable[Link] | None = None,
        listen: Mapping[BrokerId, Sequence[str]] = MappingProxyType({}),
    ) -> None:
        """`links` are those that brokers know when they start, by default all of the overlay; `listen` are addresses
        for clients besides the broker's socket."""
        self._settings = settings
        self._files = files
        self._listen = listen
        self.attributes: Mapping[BrokerId, dict[str, Any]] = {
            broker.id: dict(broker.attributes) for broker in overlay.brokers
        }
        """Overlay attributes by broker."""
        self._addresses = addresses
        self._links: dict[BrokerId, dict[BrokerId, LinkConfig]] = {broker.id: {} for broker in overlay.brokers}
        """Links by broker and neighbour."""
        self._removals: dict[frozenset[BrokerId], int] = {}
        """Number of times that the link of a pair of brokers was removed."""
        for link in overlay.links if links is None else links:
            self._add(link)

    def of(self, broker: BrokerId, incarnation: int = 1) -> BrokerConfig:
        """The configuration with which this incarnation of a broker starts. Raises `KeyError` for an unknown broker."""
        settings, files = self._settings, self._files(broker)
        return BrokerConfig(
            id=broker,
            incarnation=incarnation,
            protocol=settings.protocol,
            options=dict(settings.options),
            attributes=self.attributes[broker],
            prepared=settings.prepared.get(broker, b""),
            listen=(*([f"unix:{files.socket}"] if files.socket else []), *self._listen.get(broker, ())),
            links=tuple(self._links[broker].values()),
            log=files.log,
            stored=files.stored,
            variant=settings.variant,
            seed=settings.seed,
            sample=settings.sample,
            service_time=settings.service_time,
            sending=settings.sending,
            limits=settings.limits,
            most_hops=0 if is_ours(settings.protocol) else len(self.attributes) + HOPS_BEYOND_BROKERS,
            starts=None if settings.starts is None else dict(settings.starts),
        )

    @property
    def heartbeat(self) -> float:
        """Seconds between heartbeats on an idle link."""
        return self._settings.limits.heartbeat

    def dialled_by(self, broker: BrokerId) -> int:
        """Number of neighbours to which a broker opens the streams."""
        return sum(link.dial for link in self._links[broker].values())

    def link(self, broker: BrokerId, neighbour: BrokerId) -> LinkConfig:
        """A broker's end of a present link. Raises `KeyError` for brokers that are not linked."""
        return self._links[broker][neighbour]

    def add_link(self, link: Link) -> None:
        """Brokers that start from now on have this link.

        Raises `ValueError` for brokers that are linked already, and for a routing protocol that does not bear it.
        """
        self._require_changing_neighbours()
        if link.b in self._links[link.a]:
            raise ValueError(f"{link.a} and {link.b} are linked already")
        self._add(link)

    def remove_link(self, a: BrokerId, b: BrokerId) -> None:
        """Brokers that start from now on do not have this link.

        Raises `ValueError` for brokers that are not linked, and for a routing protocol that does not bear it.
        """
        self._require_changing_neighbours()
        if b not in self._links[a]:
            raise ValueError(f"{a} and {b} are not linked")
        del self._links[a][b], self._links[b][a]
        pair = frozenset((a, b))
        self._removals[pair] = self._removals.get(pair, 0) + 1

    def disturb(self, direction: LinkDirection, disturbance: Disturbance) -> None:
        """Brokers that start from now on disturb what comes in this direction."""
        end = self.link(direction.target, direction.source)
        self._links[direction.target][direction.source] = msgspec.structs.replace(end, disturbance=disturbance)

    def change_send_time(self, direction: LinkDirection, send_time: ServiceTime) -> None:
        """Brokers that start from now on take this time to send a message in this direction."""
        end = self.link(direction.source, direction.target)
        self._links[direction.source][direction.target] = msgspec.structs.replace(end, send_time=send_time)

    def _require_changing_neighbours(self) -> None:
        protocol = self._settings.protocol
        if not protocol_named(protocol).options.neighbours_change:
            raise ValueError(f"neighbours of a broker that routes by {protocol} do not change while it runs")

    def _add(self, link: Link) -> None:
        ends = self._addresses(link)
        appearance = 1 + (self._removals.get(frozenset((link.a, link.b)), 0) if self._removals else 0)
        for broker, neighbour, local, remote, properties in (
            (link.a, link.b, ends.a, ends.b, link.forward),
            (link.b, link.a, ends.b, ends.a, link.backward),
        ):
            self._links[broker][neighbour] = LinkConfig(
                neighbour=neighbour,
                local=local,
                remote=remote,
                dial=broker == link.a,
                attributes=self.attributes[neighbour],
                appearance=appearance,
                send_time=properties.send_time,
            )


class MeshConfigs(BrokerConfigs):
    """Configurations of the brokers of a full mesh whose links are made on demand; brokers start with used links."""

    def __init__(self, overlay: Overlay, settings: BrokerSettings) -> None:
        super().__init__(overlay, settings, links=())
        self._overlay = overlay

    def link(self, broker: BrokerId, neighbour: BrokerId) -> LinkConfig:
        """A broker's end of a link, which counts as used from now on."""
        if neighbour not in self._links[broker]:
            self._add(self._overlay.link(broker, neighbour))
        return self._links[broker][neighbour]

    def add_link(self, link: Link) -> None:
        """Raises `ValueError`, because every two brokers are linked."""
        raise ValueError(f"{link.a} and {link.b} are linked already")

    def remove_link(self, a: BrokerId, b: BrokerId) -> None:
        """Raises `ValueError`, because a link that is made on demand cannot vanish."""
        raise ValueError(f"{a} and {b} are linked on demand, as all brokers of the mesh; links on demand do not vanish")
