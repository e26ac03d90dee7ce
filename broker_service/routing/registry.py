"""The protocols by the names scenarios use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from broker_service.routing.interface import Router, RouterContext
from broker_service.routing.octopia import OctopiaOptions, OctopiaRouter
from broker_service.routing.tid import TidOptions, TidRouter


@dataclass(frozen=True, slots=True)
class Protocol:
    """A routing protocol: its router, and the struct its options must fit."""

    router: Callable[[RouterContext], Router]
    options: type[msgspec.Struct]
    keeps_order: Callable[[Any], bool]
    """Of its options: whether publications of one publisher, on one advertisement, come in order to each subscriber."""
    reconciles_within: Callable[[Any], float]
    """Of its options: seconds from the return of a link or a neighbour until all tables are right again."""
    status_interval: Callable[[Any], float]
    """Of its options: t_w, the seconds for which the link status table counts what enters and leaves a queue."""
    times: tuple[str, ...] = ()
    """The options that are times, in seconds."""
    attributes: tuple[str, ...] = ()
    """What the overlay must say of every broker, such as its place in a structured overlay."""


PROTOCOLS: Mapping[str, Protocol] = {
    "tid": Protocol(
        TidRouter,
        TidOptions,
        # One tree is one path to each subscriber, and links keep order; dynamic routing changes paths at any time.
        keeps_order=lambda options: options.publications == "fixed",
        reconciles_within=lambda options: options.reconcile_after,
        status_interval=lambda options: options.status_interval,
        times=("reconcile_after", "status_interval"),
    ),
    "octopia": Protocol(
        OctopiaRouter,
        OctopiaOptions,
        # One way into each cluster and one tree within it; dynamic routing changes the ways in at any time.
        keeps_order=lambda options: options.publications == "static",
        reconciles_within=lambda options: options.reconcile_after,
        status_interval=lambda options: options.status_interval,
        times=("reconcile_after", "status_interval"),
        attributes=("region", "cluster"),
    ),
}


def make_router(protocol: str, context: RouterContext) -> Router:
    """The router of a protocol at one broker. Raises `ValueError` for an unknown protocol or option."""
    return _find(protocol).router(context)


def check_options(protocol: str, options: Mapping[str, Any]) -> None:
    """Raises `ValueError`, naming the field, unless the protocol takes these options."""
    _options(protocol, options)


def keeps_order(protocol: str, options: Mapping[str, Any]) -> bool:
    """Whether the protocol promises that publications of one publisher, conforming to the same advertisement, do not
    overtake each other on the way to a subscriber. Raises `ValueError` as `check_options` does."""
    return _find(protocol).keeps_order(_options(protocol, options))


def reconciles_within(protocol: str, options: Mapping[str, Any]) -> float:
    """Seconds from the return of a link or a neighbour until the protocol's tables are right again. Raises
    `ValueError` as `check_options` does."""
    return _find(protocol).reconciles_within(_options(protocol, options))


def status_interval(protocol: str, options: Mapping[str, Any]) -> float:
    """t_w of the link status table, in seconds. Raises `ValueError` as `check_options` does."""
    return _find(protocol).status_interval(_options(protocol, options))


def attributes_needed(protocol: str) -> tuple[str, ...]:
    """What an overlay must say of every broker for the protocol to run on it. Raises `ValueError` when unknown."""
    return _find(protocol).attributes


def stretched_options(protocol: str, options: Mapping[str, Any], factor: float) -> dict[str, Any]:
    """The options with every time among them, given or by default, so many times longer. Raises `ValueError` as
    `check_options` does."""
    complete = _options(protocol, options)
    return {**options, **{name: getattr(complete, name) * factor for name in _find(protocol).times}}


def _options(protocol: str, options: Mapping[str, Any]) -> msgspec.Struct:
    return msgspec.convert(dict(options), _find(protocol).options)


def _find(protocol: str) -> Protocol:
    found = PROTOCOLS.get(protocol)
    if found is None:
        raise ValueError(f"unknown routing protocol {protocol!r}; known: {', '.join(PROTOCOLS)}")
    return found
