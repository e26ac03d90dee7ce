"""Bytes that brokers send over each link, as the kernel counts them at their interfaces."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from emulation.network.network import EmulatedNetwork
from record.fidelity import LinkBytes
from topology.link_properties import BrokerId, LinkDirection

_SENT = 8
"""Place of the count of bytes sent, behind an interface's name."""


class SentBytes:
    """Counts what brokers send from its making on."""

    def __init__(self, network: EmulatedNetwork, brokers: Iterable[BrokerId]) -> None:
        self._network = network
        self._brokers = tuple(brokers)
        self._before = _so_far(network, self._brokers)

    def by_direction(self) -> list[LinkBytes]:
        """The bytes of all frames so far, headers included."""
        return [
            LinkBytes(source=way.source, target=way.target, sent=sent - self._before.get(way, 0))
            for way, sent in _so_far(self._network, self._brokers).items()
        ]


def _so_far(network: EmulatedNetwork, brokers: Iterable[BrokerId]) -> Mapping[LinkDirection, int]:
    found: dict[LinkDirection, int] = {}
    for broker in brokers:
        counts = _by_interface(Path(f"/proc/{network.pid(broker)}/net/dev").read_text())
        for end in network.ends(broker):
            if (sent := counts.get(end.interface)) is not None:
                found[LinkDirection(broker, end.neighbour)] = sent
    return found


def _by_interface(table: str) -> dict[str, int]:
    rows = (line.partition(":") for line in table.splitlines() if ":" in line)
    return {name.strip(): int(counts.split()[_SENT]) for name, _, counts in rows}
