"""The emulated network: Mininet nodes and the links between them."""

from emulation.network.model import LinkDriver, LinkEnd, NetworkError
from emulation.network.network import EmulatedNetwork

__all__ = ["EmulatedNetwork", "LinkDriver", "LinkEnd", "NetworkError"]
