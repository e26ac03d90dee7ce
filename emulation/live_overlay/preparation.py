"""The preparation of a protocol for an overlay and its clients (`ProtocolOptions.prepare`)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeVar

from broker_service.language import Advertisement, Subscription
from broker_service.routing import read_options
from broker_service.routing.failures import FAILURES
from broker_service.routing.options import MOST_PREPARED, PlannedLink, PlannedMesh, Preparation, ProtocolOptions
from broker_service.routing.registry import failed_planning
from record.errors import BadInputError
from topology.link_properties import BrokerId
from topology.model import MeshLinks, Overlay

_Content = TypeVar("_Content", bound=Advertisement | Subscription)


@dataclass(frozen=True, slots=True)
class Declarations:
    """Advertisements and subscriptions of clients, by their brokers."""

    advertisements: Mapping[BrokerId, Sequence[Advertisement]]
    subscriptions: Mapping[BrokerId, Sequence[Subscription]]


def prepared_by(
    protocol: str, options: Mapping[str, object], overlay: Overlay, seed: int, declared: Callable[[], Declarations]
) -> Mapping[BrokerId, bytes]:
    """The protocol's preparation, by broker. `declared` is called only for a protocol that prepares.

    Raises `BadInputError` when the protocol refuses the overlay or the clients, or prepares too much.
    """
    read = read_options(protocol, options)
    if type(read).prepare is ProtocolOptions.prepare:
        return {}
    declarations = cache(declared)
    preparation = Preparation(
        brokers={broker.id: broker.attributes for broker in overlay.brokers},
        links=_planned(overlay),
        advertisements=_WhenRead(lambda: declarations().advertisements),
        subscriptions=_WhenRead(lambda: declarations().subscriptions),
        seed=seed,
    )
    try:
        prepared = read.prepare(preparation)
        _check(prepared, preparation)
    except ValueError as error:
        raise BadInputError(f"routing.protocol: {protocol} cannot prepare its brokers: {error}") from error
    except FAILURES as error:
        raise failed_planning(protocol, "`prepare`", error) from error
    return prepared


class _WhenRead(Mapping[BrokerId, Sequence[_Content]]):
    """Declarations of one kind, made when a protocol reads them, because few do and large workloads take seconds."""

    def __init__(self, make: Callable[[], Mapping[BrokerId, Sequence[_Content]]]) -> None:
        self._make = make

    def __getitem__(self, broker: BrokerId) -> Sequence[_Content]:
        return self._make()[broker]

    def __iter__(self) -> Iterator[BrokerId]:
        return iter(self._make())

    def __len__(self) -> int:
        return len(self._make())

    def __contains__(self, broker: object) -> bool:
        return broker in self._make()


def _planned(overlay: Overlay) -> Collection[PlannedLink]:
    """The links of an overlay. Those of a mesh follow from its delays, because drawing all their properties would take
    20 times as long."""
    links = overlay.links
    if isinstance(links, MeshLinks):
        return PlannedMesh(links.brokers, links.delays())
    return [PlannedLink(link.a, link.b, link.forward.delay, link.backward.delay) for link in links]


def _check(prepared: Mapping[BrokerId, bytes], preparation: Preparation) -> None:
    if not isinstance(prepared, Mapping):
        raise TypeError(f"it returned {type(prepared).__name__}, and a mapping of bytes by broker is expected")
    for broker, content in prepared.items():
        if not isinstance(content, bytes):
            raise TypeError(f"it returned {type(content).__name__} for broker {broker}, and bytes are expected")
        if broker not in preparation.brokers:
            raise ValueError(f"there is no broker {broker!r} in the overlay")
        if len(content) > MOST_PREPARED:
            raise ValueError(f"{len(content)} bytes for broker {broker}, which takes at most {MOST_PREPARED}")
