"""Broker processes on loopback addresses of this host, with nothing between them. Needs no privileges."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from emulation.host.journal import Journal
from emulation.host.loopback_block import LoopbackBlock
from emulation.host.run_paths import RunPaths
from emulation.live_overlay import BrokerConfigs, BrokerSettings, LinkAddresses
from emulation.runtimes.foreign import files_by_level
from emulation.runtimes.host_brokers import Hosting
from emulation.runtimes.host_overlay import BROKER_PORT, HostOverlay
from emulation.runtimes.interface import Launch, Resources
from emulation.runtimes.process import ProcessRuntime
from record.errors import HostError
from topology.link_properties import BrokerId, Link, LinkDirection, LinkProperties
from topology.model import Overlay

_SOCKETS = "sockets"


class OwnUser:
    """A `Confinement` of processes that keep the user, the network and the limits of this one, and end with it."""

    def provide(self, launch: Launch) -> int:
        """Such brokers make their logs themselves."""
        return os.getuid()

    def prefix(self, launch: Launch, namespace: int) -> list[str]:
        return ["setpriv", "--pdeathsig", "TERM", "--"] if shutil.which("setpriv") else []


class LoopbackNetwork:
    """`LiveLinks` on loopback addresses, whose links have no properties and do not fail.

    Each network has a block of addresses of its own, because several may run on one host at the same time.
    """

    def __init__(self) -> None:
        """Raises `HostError` when no block is free."""
        self._block = LoopbackBlock()
        self._numbers: dict[frozenset[BrokerId], int] = {}
        """Number of each link, from 0, by its two brokers."""

    def close(self) -> None:
        """Gives the block of addresses back."""
        self._block.close()

    def addresses(self, link: Link) -> LinkAddresses:
        """Addresses of the link's ends; a broker has the same ones in each link with the same neighbour."""
        number = self._numbers.setdefault(frozenset((link.a, link.b)), len(self._numbers))
        high, low = divmod(2 * number, 254)
        first, second = (f"{self._block.address(high, low + end)}:{BROKER_PORT}" for end in (1, 2))
        return LinkAddresses(first, second) if link.a < link.b else LinkAddresses(second, first)

    def add(self, link: Link) -> None:
        """Does nothing, because every two addresses are connected."""

    def remove(self, a: BrokerId, b: BrokerId) -> None:
        """Does nothing, because brokers without a link use none of its addresses."""

    def cut(self, direction: LinkDirection) -> None:
        raise _unchangeable(direction)

    def restore(self, direction: LinkDirection) -> None:
        raise _unchangeable(direction)

    def change(self, direction: LinkDirection, properties: LinkProperties) -> None:
        raise _unchangeable(direction)

    def corrupt(self, direction: LinkDirection, share: float) -> None:
        raise _unchangeable(direction)


@contextmanager
def loopback_overlay(
    overlay: Overlay,
    settings: BrokerSettings,
    run_id: str,
    directory: Path,
    *,
    connect_within: float = 20.0,
    resources: Resources = Resources(),  # noqa: B008 - frozen
) -> Iterator[HostOverlay]:
    """An overlay of running, connected brokers; leaving the context ends them.

    Files go to `directory`, which should be empty. Processes are marked with `run_id`. Raises `HostError`, and
    `UnsettledError` when brokers are not connected after `connect_within` seconds.
    """
    paths = RunPaths(run_id, directory.absolute(), directory.absolute() / _SOCKETS)
    paths.logs.mkdir(exist_ok=True)
    for broker in overlay.brokers:
        paths.socket(broker.id).parent.mkdir(parents=True)
    with (
        closing(LoopbackNetwork()) as network,
        closing(Journal(paths.journal)) as journal,
        ProcessRuntime(paths, journal, OwnUser()) as runtime,
    ):
        configs = BrokerConfigs(
            overlay, settings, files=files_by_level(runtime.files, resources.foreign), addresses=network.addresses
        )
        hosting = Hosting(
            runtime=runtime,
            network=network,
            namespace=lambda _broker: os.getpid(),
            sockets=paths.socket,
            directory=paths.variant(settings.variant),
            resources=resources,
        )
        with HostOverlay(overlay, configs, hosting) as started:
            started.await_links(connect_within)
            yield started


def _unchangeable(direction: LinkDirection) -> HostError:
    return HostError(
        f"the link {direction.source} - {direction.target} is a loopback address, which nothing can change"
    )
