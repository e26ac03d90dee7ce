"""The protocols by the names scenarios use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from broker_service.routing.interface import Router, RouterContext
from broker_service.routing.tid import TidOptions, TidRouter


@dataclass(frozen=True, slots=True)
class Protocol:
    """A routing protocol: its router, and the struct its options must fit."""

    router: Callable[[RouterContext], Router]
    options: type[msgspec.Struct]


PROTOCOLS: Mapping[str, Protocol] = {"tid": Protocol(TidRouter, TidOptions)}


def make_router(protocol: str, context: RouterContext) -> Router:
    """The router of a protocol at one broker. Raises `ValueError` for an unknown protocol or option."""
    return _find(protocol).router(context)


def check_options(protocol: str, options: Mapping[str, Any]) -> None:
    """Raises `ValueError`, naming the field, unless the protocol takes these options."""
    msgspec.convert(dict(options), _find(protocol).options)


def _find(protocol: str) -> Protocol:
    found = PROTOCOLS.get(protocol)
    if found is None:
        raise ValueError(f"unknown routing protocol {protocol!r}; known: {', '.join(PROTOCOLS)}")
    return found
