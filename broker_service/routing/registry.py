"""The routing protocols by the names that scenarios use.

A built-in protocol is a package beside this module that has a module `protocol`, which declares it; its name is the
package's, with hyphens. It is imported when it is first looked up, because a broker uses one protocol only, and the
others would make its start longer.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping, MutableMapping
from pathlib import Path
from typing import Any

import msgspec

from broker_service.routing.declaration import Protocol
from broker_service.routing.options import ProtocolOptions


def built_in(directory: Path, package: str) -> dict[str, str]:
    """The protocols whose packages are in a directory, in alphabetical order, with the modules that declare them."""
    return {
        found.parent.name.replace("_", "-"): f"{package}.{found.parent.name}.protocol"
        for found in sorted(directory.glob("*/protocol.py"))
    }


class _Protocols(MutableMapping[str, Protocol]):
    """Protocols by name, each imported when it is first looked up."""

    def __init__(self, modules: Mapping[str, str]) -> None:
        self._modules = modules
        self._loaded: dict[str, Protocol | None] = dict.fromkeys(modules)

    def __getitem__(self, name: str) -> Protocol:
        protocol = self._loaded[name]
        if protocol is None:
            protocol = self._loaded[name] = importlib.import_module(self._modules[name]).PROTOCOL
        return protocol

    def __setitem__(self, name: str, protocol: Protocol) -> None:
        self._loaded[name] = protocol

    def __delitem__(self, name: str) -> None:
        del self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._loaded)

    def __len__(self) -> int:
        return len(self._loaded)


PROTOCOLS: MutableMapping[str, Protocol] = _Protocols(built_in(Path(__file__).parent, "broker_service.routing"))


def protocol_named(name: str) -> Protocol:
    """The protocol of a name. Raises `ValueError` when there is none."""
    protocol = PROTOCOLS.get(name)
    if protocol is None:
        raise ValueError(f"unknown routing protocol {name!r}; known: {', '.join(PROTOCOLS)}")
    return protocol


def read_options(name: str, options: Mapping[str, Any]) -> ProtocolOptions:
    """A protocol's options, with defaults for those not given. Raises `ValueError` that names an option unfit."""
    return msgspec.convert(dict(options), protocol_named(name).options)
