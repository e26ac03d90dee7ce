"""The routing protocols by the names that scenarios use.

A protocol's package is imported when the protocol is first looked up, because a broker uses one of them only, and the
others would make its start longer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any

import msgspec

from broker_service.routing.interface import Router, RouterContext
from broker_service.routing.options import ProtocolOptions


@dataclass(frozen=True, slots=True)
class Protocol:
    """A routing protocol: its router, and the struct that its options must fit."""

    router: Callable[[RouterContext[Any]], Router]
    options: type[ProtocolOptions]


def _tid() -> Protocol:
    from broker_service.routing.tid import TidOptions, TidRouter  # noqa: PLC0415 - see the module

    return Protocol(TidRouter, TidOptions)


def _octopia() -> Protocol:
    from broker_service.routing.octopia import OctopiaOptions, OctopiaRouter  # noqa: PLC0415 - see the module

    return Protocol(OctopiaRouter, OctopiaOptions)


def _medym() -> Protocol:
    from broker_service.routing.medym import MedymOptions, MedymRouter  # noqa: PLC0415 - see the module

    return Protocol(MedymRouter, MedymOptions)


def _cbf() -> Protocol:
    from broker_service.routing.cbf import CbfOptions, CbfRouter  # noqa: PLC0415 - see the module

    return Protocol(CbfRouter, CbfOptions)


def _channelization() -> Protocol:
    from broker_service.routing.channelization import (  # noqa: PLC0415 - see the module
        ChannelizationOptions,
        ChannelizationRouter,
    )

    return Protocol(ChannelizationRouter, ChannelizationOptions)


def _semi_probabilistic() -> Protocol:
    from broker_service.routing.semi_probabilistic import (  # noqa: PLC0415 - see the module
        SemiProbabilisticOptions,
        semi_probabilistic_router,
    )

    return Protocol(semi_probabilistic_router, SemiProbabilisticOptions)


def _gryphon() -> Protocol:
    from broker_service.routing.gryphon import GryphonOptions, GryphonRouter  # noqa: PLC0415 - see the module

    return Protocol(GryphonRouter, GryphonOptions)


class _Protocols(MutableMapping[str, Protocol]):
    """Protocols by name, each loaded when it is first looked up."""

    def __init__(self, loaders: Mapping[str, Callable[[], Protocol]]) -> None:
        self._loaders = loaders
        self._loaded: dict[str, Protocol | None] = dict.fromkeys(loaders)

    def __getitem__(self, name: str) -> Protocol:
        protocol = self._loaded[name]
        if protocol is None:
            protocol = self._loaded[name] = self._loaders[name]()
        return protocol

    def __setitem__(self, name: str, protocol: Protocol) -> None:
        self._loaded[name] = protocol

    def __delitem__(self, name: str) -> None:
        del self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._loaded)

    def __len__(self) -> int:
        return len(self._loaded)


PROTOCOLS: MutableMapping[str, Protocol] = _Protocols(
    {
        "tid": _tid,
        "octopia": _octopia,
        "medym": _medym,
        "cbf": _cbf,
        "channelization": _channelization,
        "gryphon": _gryphon,
        "semi-probabilistic": _semi_probabilistic,
    }
)


def protocol_named(name: str) -> Protocol:
    """The protocol of a name. Raises `ValueError` when there is none."""
    protocol = PROTOCOLS.get(name)
    if protocol is None:
        raise ValueError(f"unknown routing protocol {name!r}; known: {', '.join(PROTOCOLS)}")
    return protocol


def read_options(name: str, options: Mapping[str, Any]) -> ProtocolOptions:
    """A protocol's options, with defaults for those not given. Raises `ValueError` that names an option unfit."""
    return msgspec.convert(dict(options), protocol_named(name).options)
