"""Configuration of an overlay's brokers: the one place that makes a `BrokerConfig`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from broker_service.config import BrokerConfig, Limits, LinkConfig
from broker_service.service_time import ServiceTime
from topology import BrokerId, Link, Overlay


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerSettings:
    """Settings that all brokers of an overlay share."""

    protocol: str = "tid"
    options: Mapping[str, object] = field(default_factory=dict)
    """The protocol's own options, as in the scenario's `routing` section."""
    seed: int = 0
    limits: Limits = field(default_factory=Limits)
    service_time: ServiceTime = field(default_factory=ServiceTime)
    """Work added to each message, as `BrokerConfig.service_time`."""
    variant: str = "base"
    prepared: Mapping[BrokerId, bytes] = field(default_factory=dict)
    """Result of the protocol's `prepare`, by broker."""


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
    ) -> None:
        self._settings = settings
        self._files = files
        self._attributes = {broker.id: dict(broker.attributes) for broker in overlay.brokers}
        self._links: dict[BrokerId, list[LinkConfig]] = {broker.id: [] for broker in overlay.brokers}
        for link in overlay.links:
            ends = addresses(link)
            self._links[link.a].append(self._end(link.b, ends.a, ends.b, dial=True))
            self._links[link.b].append(self._end(link.a, ends.b, ends.a, dial=False))

    def of(self, broker: BrokerId, incarnation: int = 1) -> BrokerConfig:
        """The configuration with which this incarnation of a broker starts. Raises `KeyError` for an unknown broker."""
        settings, files = self._settings, self._files(broker)
        return BrokerConfig(
            id=broker,
            incarnation=incarnation,
            protocol=settings.protocol,
            options=dict(settings.options),
            attributes=self._attributes[broker],
            prepared=settings.prepared.get(broker, b""),
            listen=(f"unix:{files.socket}",) if files.socket else (),
            links=tuple(self._links[broker]),
            log=files.log,
            stored=files.stored,
            variant=settings.variant,
            seed=settings.seed,
            service_time=settings.service_time,
            limits=settings.limits,
        )

    def _end(self, neighbour: BrokerId, local: str, remote: str, *, dial: bool) -> LinkConfig:
        return LinkConfig(
            neighbour=neighbour, local=local, remote=remote, dial=dial, attributes=self._attributes[neighbour]
        )
