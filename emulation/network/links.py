"""Mininet links without and with a relay between their ends. Links that the kernel shapes are in `netem.py`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from mininet.link import Intf
from mininet.link import Link as MininetLink

from emulation.network.model import LinkNames, NetworkError
from emulation.network.nodes import Node, NodeInterface
from emulation.network.relay.handle import RelayProcess
from emulation.network.relay.messages import AddLink, ChangeDirection, Corrupt, DirectionCounters, SetUp
from topology.link_properties import LinkProperties

_UNSHAPED = LinkProperties()


def _shapes(properties: LinkProperties) -> bool:
    """True for properties that frames get from the link; a send time is the sending broker's work."""
    return properties != replace(_UNSHAPED, queue_limit=properties.queue_limit, send_time=properties.send_time)


def interface_parameters(names: LinkNames, side: int) -> dict[str, Any]:
    """The configuration of the interface of end `a` (side 0) or `b` (side 1)."""
    far = 1 - side
    return {
        "ip": f"{names.addresses[side]}/{names.prefix_length}",
        "hardware_address": names.hardware_addresses[side],
        "neighbour": (names.addresses[far], names.hardware_addresses[far]),
    }


class PlainLink(MininetLink):  # type: ignore[misc]
    """A veth pair, made in the nodes' namespaces from the start, that has no properties.

    Side 0 means frames that enter at end `a`, side 1 frames that enter at end `b`. All methods raise `NetworkError`.
    """

    def __init__(
        self,
        nodes: tuple[Node, Node],
        names: LinkNames,
        interface: type[Intf] = NodeInterface,
        parameters: Sequence[Mapping[str, object]] = ({}, {}),
    ) -> None:
        self.names = names
        try:
            super().__init__(
                *nodes,
                intfName1=names.interfaces[0],
                intfName2=names.interfaces[1],
                intf=interface,
                params1=interface_parameters(names, 0) | dict(parameters[0]),
                params2=interface_parameters(names, 1) | dict(parameters[1]),
            )
        except NetworkError as error:
            raise NetworkError(f"{names}: {error}") from error
        except Exception as error:  # Mininet raises nothing narrower
            raise NetworkError(f"{names} cannot be made: {' '.join(str(error).split())}") from error

    def verify(self) -> None:
        """Raises unless the link has the requested properties."""
        for properties in (self.names.link.forward, self.names.link.backward):
            if _shapes(properties):
                raise NetworkError(f"{self.names} asks for properties, and plain links have none")

    def change(self, side: int, properties: LinkProperties) -> None:
        """Gives other properties to frames that enter at a side from now on; frames in flight keep theirs."""
        raise NetworkError(f"{self.names} is a plain link: its properties cannot change")

    def cut(self, side: int) -> None:
        """Drops frames that enter at a side from now on; frames in flight still arrive."""
        raise NetworkError(f"{self.names} is a plain link: it cannot be cut")

    def restore(self, side: int) -> None:
        """Undo `cut`."""
        raise NetworkError(f"{self.names} is a plain link: it was never cut")

    def corrupt(self, side: int, share: float) -> None:
        """Damage this share of the frames that enter at a side from now on; a share of 0 ends the damage."""
        raise NetworkError(f"{self.names} is a plain link: it cannot damage frames")


class UserspaceLink(PlainLink):
    """A pair of TAP interfaces, made in the nodes' namespaces by the relay, which carries frames between them."""

    def __init__(self, nodes: tuple[Node, Node], names: LinkNames, index: int, relay: RelayProcess) -> None:
        self.processes = nodes[0].pid, nodes[1].pid
        self._index = index
        self._relay = relay
        super().__init__(nodes, names)

    def makeIntfPair(self, first: str, second: str, *_: Any, **__: Any) -> None:  # noqa: N802 - Mininet's name
        """Has the relay open both ends."""
        link = self.names.link
        self._relay.carry_out(AddLink(self._index, self.processes, (first, second), (link.forward, link.backward)))

    def verify(self) -> None:
        """Raises unless the relay carries this link's frames."""
        self.counters()

    def change(self, side: int, properties: LinkProperties) -> None:
        self._relay.carry_out(ChangeDirection(self._index, side, properties))

    def cut(self, side: int) -> None:
        self._relay.carry_out(SetUp(self._index, side, False))

    def restore(self, side: int) -> None:
        self._relay.carry_out(SetUp(self._index, side, True))

    def corrupt(self, side: int, share: float) -> None:
        self._relay.carry_out(Corrupt(self._index, side, share))

    def counters(self) -> tuple[DirectionCounters, DirectionCounters]:
        """The relay's counters since the link was made: from end a to b, and from b to a."""
        directions = self._relay.counters(self._index).directions
        if any(direction.broken for direction in directions):
            raise NetworkError(f"an interface of {self.names} has vanished: did its broker's namespace end?")
        return directions
