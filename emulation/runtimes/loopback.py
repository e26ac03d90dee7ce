"""Broker processes on loopback addresses of this host, with nothing between them. Needs no privileges."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from emulation.host.journal import Journal
from emulation.host.run_paths import RunPaths
from emulation.live_overlay import BrokerConfigs, BrokerSettings, LinkAddresses
from emulation.runtimes.host_overlay import BROKER_PORT, Hosting, HostOverlay
from emulation.runtimes.interface import Launch
from emulation.runtimes.process import ProcessRuntime
from record.errors import HostError
from topology.link_properties import BrokerId, Link, LinkProperties
from topology.model import Overlay

_SOCKETS = "sockets"


class OwnUser:
    """A `Confinement` of processes that keep the user, the network and the limits of this one, and end with it."""

    def prepare(self, run_paths: RunPaths) -> None:
        run_paths.logs.mkdir(exist_ok=True)

    def prefix(self, launch: Launch, namespace: int, brokers: int) -> list[str]:
        return ["setpriv", "--pdeathsig", "TERM", "--"] if shutil.which("setpriv") else []


class LoopbackNetwork:
    """A `Network` of loopback addresses, whose links have no properties and do not fail."""

    def __init__(self) -> None:
        self._numbers: dict[frozenset[BrokerId], int] = {}
        """By the two brokers of a link, from 1."""

    def addresses(self, link: Link) -> LinkAddresses:
        """Addresses of the link's ends; a broker has the same ones in each link with the same neighbour."""
        number = self._numbers.setdefault(frozenset((link.a, link.b)), len(self._numbers) + 1)
        network = f"127.{number >> 8}.{number & 255}"
        first, second = (f"{network}.1:{BROKER_PORT}", f"{network}.2:{BROKER_PORT}")
        return LinkAddresses(first, second) if link.a < link.b else LinkAddresses(second, first)

    def pid(self, broker: BrokerId) -> int:
        return os.getpid()

    def check(self) -> None:
        """Nothing of it can end."""

    def cut(self, source: BrokerId, target: BrokerId) -> None:
        raise _unchangeable(source, target)

    def restore(self, source: BrokerId, target: BrokerId) -> None:
        raise _unchangeable(source, target)

    def change(self, source: BrokerId, target: BrokerId, properties: LinkProperties) -> None:
        raise _unchangeable(source, target)

    def connect(self, link: Link) -> None:
        """Every two addresses are connected."""

    def disconnect(self, a: BrokerId, b: BrokerId) -> None:
        """Brokers without a link use none of its addresses."""

    def corrupt(self, source: BrokerId, target: BrokerId, share: float) -> None:
        raise _unchangeable(source, target)


@contextmanager
def loopback_overlay(
    overlay: Overlay, settings: BrokerSettings, run_id: str, directory: Path, *, connect_within: float = 20.0
) -> Iterator[HostOverlay]:
    """An overlay of running, connected brokers; leaving the context ends them.

    Files go to `directory`, which should be empty. Processes are marked with `run_id`. Raises `HostError`, and
    `UnsettledError` when brokers are not connected after `connect_within` seconds.
    """
    paths = RunPaths(run_id, directory.absolute(), directory.absolute() / _SOCKETS)
    for broker in overlay.brokers:
        paths.socket(broker.id).parent.mkdir(parents=True)
    network, journal = LoopbackNetwork(), Journal(paths.journal)
    try:
        with ProcessRuntime(paths, journal, OwnUser()) as runtime:
            configs = BrokerConfigs(overlay, settings, files=runtime.files, addresses=network.addresses)
            hosting = Hosting(
                runtime=runtime, network=network, sockets=paths.socket, directory=paths.variant(settings.variant)
            )
            with HostOverlay(overlay, configs, hosting) as started:
                started.await_links(connect_within)
                yield started
    finally:
        journal.close()


def _unchangeable(source: BrokerId, target: BrokerId) -> HostError:
    return HostError(f"the link {source} - {target} is a loopback address, which nothing can change")
