"""Mininet links without and with a relay between their ends. (The kernel's own shaping is in `netem.py`.)"""

from __future__ import annotations

from typing import Any

from mininet.link import Link as MininetLink

from emulation.network.model import LinkNames, NetworkError
from emulation.network.nodes import Node, NodeInterface
from emulation.network.relay_messages import AddLink
from emulation.network.relay_process import RelayProcess


def interface_parameters(names: LinkNames, side: int) -> dict[str, Any]:
    """What the interface of end `a` (side 0) or `b` (side 1) is configured with."""
    far = 1 - side
    return {
        "ip": f"{names.addresses[side]}/{names.prefix_length}",
        "hardware_address": names.hardware_addresses[side],
        "neighbour": (names.addresses[far], names.hardware_addresses[far]),
    }


class PlainLink(MininetLink):  # type: ignore[misc]
    """A veth pair, made in the nodes' namespaces from the start."""

    def __init__(self, nodes: tuple[Node, Node], names: LinkNames) -> None:
        try:
            super().__init__(
                *nodes,
                intfName1=names.interfaces[0],
                intfName2=names.interfaces[1],
                intf=NodeInterface,
                params1=interface_parameters(names, 0),
                params2=interface_parameters(names, 1),
            )
        except NetworkError:
            raise
        except Exception as error:  # Mininet raises nothing narrower
            raise NetworkError(f"cannot make {names}: {error}") from error


class UserspaceLink(PlainLink):
    """A pair of TAP interfaces, made in the nodes' namespaces by the relay, which carries frames between them."""

    def __init__(self, nodes: tuple[Node, Node], names: LinkNames, index: int, relay: RelayProcess) -> None:
        self._index = index
        self._relay = relay
        self._nodes = nodes
        self._properties = (names.link.forward, names.link.backward)
        super().__init__(nodes, names)

    def makeIntfPair(  # type: ignore[override]  # noqa: N802 - Mininet's name
        self, first: str, second: str, *_: Any, **__: Any
    ) -> None:
        """Have the relay open both ends."""
        processes = self._nodes[0].pid, self._nodes[1].pid
        self._relay.carry_out(AddLink(self._index, processes, (first, second), self._properties))
