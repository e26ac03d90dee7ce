"""Gryphon: subscriptions propagated with virtual-time vectors over redundant nodes (Zhao, Sturman, Bhola, 2004).

`router` is one broker's part of the system. Below it are, from the ground up: the tree of nodes (`overlay`), virtual
time (`virtual_time`), conjunctions and their covering (`subscriptions`), the propagation of changes (`propagation`)
over links and `detours`, the state of publishers' streams (`streams`), and their way through a broker (`relaying`).
"""

from broker_service.routing.gryphon.options import GryphonOptions
from broker_service.routing.gryphon.router import GryphonRouter

__all__ = ["GryphonOptions", "GryphonRouter"]
