"""The modules that `make compiled` compiles: the broker's core without I/O, the streams that carry its frames, and the
simulator.

Everything else runs from source, compiled build or not. A new module of these packages is compiled unless it is listed
in `INTERPRETED` with the reason. A compiled class cannot be patched by a test or subclassed by interpreted code, and
has no weak references.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

COMPILED_PACKAGES = (
    "broker_service",
    "broker_service/clients",
    "broker_service/detection",
    "broker_service/language",
    "broker_service/links",
    "broker_service/matching",
    "broker_service/routing",
    "broker_service/routing/cbf",
    "broker_service/routing/channelization",
    "broker_service/routing/common",
    "broker_service/routing/gryphon",
    "broker_service/routing/gryphon/detours",
    "broker_service/routing/gryphon/overlay",
    "broker_service/routing/gryphon/propagation",
    "broker_service/routing/gryphon/relaying",
    "broker_service/routing/gryphon/streams",
    "broker_service/routing/gryphon/subscriptions",
    "broker_service/routing/gryphon/virtual_time",
    "broker_service/routing/medym",
    "broker_service/routing/medym/announcements",
    "broker_service/routing/medym/locations",
    "broker_service/routing/medym/multicast",
    "broker_service/routing/medym/subscriptions",
    "broker_service/routing/octopia",
    "broker_service/routing/semi_probabilistic",
    "broker_service/routing/tid",
    "broker_service/sessions",
    "broker_service/tracing",
    "emulation/simulation",
)
"""Packages whose own modules are compiled; packages inside of these are compiled only if they are listed.

`__init__` and `__main__` are not: the former only re-exports, and Python runs no extension as a program.
"""

COMPILED_MODULES = (
    "broker_service/client_library/client_requests.py",
    "broker_service/client_library/client_session.py",
    "broker_service/grpc_shell/link_stream.py",
    "broker_service/grpc_shell/service.py",
    "broker_service/grpc_shell/session_stream.py",
    "broker_service/transport/allowance.py",
    "broker_service/transport/channel.py",
    "broker_service/transport/connection.py",
    "broker_service/transport/due_writes.py",
    "broker_service/transport/duplex.py",
    "broker_service/transport/frames.py",
    "broker_service/transport/length_prefix.py",
    "broker_service/transport/server.py",
    "broker_service/transport/stream.py",
    "broker_service/transport/wire.py",
    "emulation/drivers/clients.py",
    "emulation/drivers/driver_operations.py",
    "emulation/network/relay/shaping.py",
)
"""Single modules of other packages, which the broker or the simulator passes through for each publication or each
frame, and those with subclasses of their classes."""

_STRUCTS = "msgspec builds structs from annotations at run time"
_GENERIC_DATACLASS = "mypyc compiles no dataclass that is generic"
_RARE = "runs once in a broker's life, or once in a run"
_DECLARED = "runs once for each composite subscription that a client makes"

INTERPRETED: Mapping[str, str] = {
    "broker_service/clients/declaring.py": _GENERIC_DATACLASS,
    "broker_service/config.py": _STRUCTS,
    "broker_service/disturbance.py": _STRUCTS,
    "broker_service/errors.py": _RARE,
    "broker_service/language/canonical.py": _DECLARED,
    "broker_service/language/composite.py": _STRUCTS,
    "broker_service/language/composite_subscription.py": _DECLARED,
    "broker_service/language/composite_wire.py": _DECLARED,
    "broker_service/language/model.py": "its values check the types of their arguments and say what is wrong",
    "broker_service/language/notation.py": "a grammar's actions, which lark finds by their names",
    "broker_service/links/frames.py": _STRUCTS,
    "broker_service/links/states.py": "mypyc compiles no exception derived from RuntimeError",
    "broker_service/messages.py": _STRUCTS,
    "broker_service/process_gauges.py": _RARE,
    "broker_service/routing/cbf/messages.py": _STRUCTS,
    "broker_service/routing/cbf/options.py": _STRUCTS,
    "broker_service/routing/cbf/tree.py": _RARE,
    "broker_service/routing/channelization/clustering.py": _RARE,
    "broker_service/routing/channelization/event_space.py": _STRUCTS,
    "broker_service/routing/channelization/messages.py": _STRUCTS,
    "broker_service/routing/channelization/options.py": _STRUCTS,
    "broker_service/routing/channelization/plan.py": _STRUCTS,
    "broker_service/routing/common/dispatch.py": "routers that are not compiled are subclasses of `DispatchingRouter`",
    "broker_service/routing/common/identifiers.py": _STRUCTS,
    "broker_service/routing/common/reconciliation.py": _STRUCTS,
    "broker_service/routing/gryphon/detours/messages.py": _STRUCTS,
    "broker_service/routing/gryphon/options.py": _STRUCTS,
    "broker_service/routing/gryphon/overlay/routing_tree.py": _STRUCTS,
    "broker_service/routing/gryphon/propagation/messages.py": _STRUCTS,
    "broker_service/routing/gryphon/streams/messages.py": _STRUCTS,
    "broker_service/routing/gryphon/streams/publications.py": _STRUCTS,
    "broker_service/routing/gryphon/subscriptions/conjunction_graph.py": _GENERIC_DATACLASS,
    "broker_service/routing/gryphon/subscriptions/conjunctions.py": _STRUCTS,
    "broker_service/routing/gryphon/subscriptions/leaf_subscriptions.py": _GENERIC_DATACLASS,
    "broker_service/routing/gryphon/timer_keys.py": _STRUCTS,
    "broker_service/routing/interface.py": "routers that are not compiled are subclasses of `Router`",
    "broker_service/routing/medym/mesh.py": _STRUCTS,
    "broker_service/routing/medym/messages.py": _STRUCTS,
    "broker_service/routing/medym/options.py": _STRUCTS,
    "broker_service/routing/medym/sums.py": "servers share its values by weak references",
    "broker_service/routing/octopia/forwarding.py": _STRUCTS,
    "broker_service/routing/octopia/messages.py": _STRUCTS,
    "broker_service/routing/octopia/options.py": _STRUCTS,
    "broker_service/routing/options.py": _STRUCTS,
    "broker_service/routing/semi_probabilistic/messages.py": _STRUCTS,
    "broker_service/routing/semi_probabilistic/options.py": _STRUCTS,
    "broker_service/routing/preparation.py": _RARE,
    "broker_service/routing/registry.py": "tests and extensions add protocols to it",
    "broker_service/routing/tid/messages.py": _STRUCTS,
    "broker_service/routing/tid/options.py": _STRUCTS,
    "broker_service/routing/tid/routes.py": _STRUCTS,
    "broker_service/storage.py": _RARE,
    "emulation/simulation/calibration.py": _STRUCTS,
    "emulation/simulation/memory.py": _RARE,
    "emulation/simulation/run.py": _RARE,
}
"""Modules of these packages that are not compiled, each with the reason."""


def compiled_modules(tree: Path) -> list[str]:
    """Paths of the modules to compile, relative to the tree."""
    found = [path for package in COMPILED_PACKAGES for path in (tree / package).glob("*.py")]
    relative = {path.relative_to(tree).as_posix() for path in found if not path.name.startswith("__")}
    return sorted(relative - set(INTERPRETED) | set(COMPILED_MODULES))
