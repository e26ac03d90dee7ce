"""Replication of subscriptions with advertisements (MEDYM, section 5.2.1, figure 6).

A *subscription* is a value that a server wants. Its *replication* is the share of all servers that store it for that
server; a measurement is the mean over subscriptions.

- Under MEDYM these are the servers that received the subscription, because each of them has a matching advertisement.
- Under content-based forwarding they are the servers that got a subscription to the value from a neighbour in whose
  direction the server is. A neighbour subscribes once for all servers behind it.

Variants are called `<publication servers>+<advertisement range>+<scheme>`, the first two in percent. Content-based
forwarding routes on an overlay that is a tree.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import fmean
from typing import NamedTuple

import networkx as nx

from analysis.claims.measured_run import MeasuredRun, MeasuredVariant
from analysis.claims.model import ClaimsError, Recipe
from analysis.claims.papers.medym.variants import CBF, by_point
from analysis.claims.verdict import Measurement
from broker_service.messages import Kind
from record.log import PredicateRecord
from topology.link_properties import BrokerId
from topology.model import Overlay

MEDYM = "MEDYM"
VALUE = "value"
"""Attribute that holds the integer."""
SUBSCRIBERS = "subscribers"
"""Log of the driver process."""
_NEAR = 0.1
"""Largest relative difference of numbers that are equal but for chance."""


class Replication(NamedTuple):
    """Mean shares of servers at a point."""

    product: float
    """Share of publication servers times advertisement range."""
    medym: float
    """Replication under MEDYM."""
    forwarding: float
    """Replication under content-based forwarding."""


class Subscribed(NamedTuple):
    """A subscription that a server received from another."""

    receiver: BrokerId
    neighbour: BrokerId
    id: str


@dataclass(slots=True)
class _Declared:
    """Subscriptions of the clients of a variant, and those that servers received of each other."""

    values: dict[tuple[str, str], int] = field(default_factory=dict)
    """The value of each subscription, by client and the client's name for it."""
    wanted: dict[str, tuple[BrokerId, int]] = field(default_factory=dict)
    """The server and the value of each subscription, by the identifier that the server gave it."""
    received: set[Subscribed] = field(default_factory=set)


def replication(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """Margins of the statements about figure 6.

    1. MEDYM stores a subscription at the product of the share of publication servers and the advertisement range:
       `_NEAR` minus the relative difference, on average over points.
    2. Content-based forwarding stores it at more servers: the smallest relative excess over all points.
    3. The excess is the larger, the fewer servers publish, and
    4. the smaller the range: the smallest relative difference of neighbouring points.
    """
    found = replications(run)
    shares, ranges = (sorted({point[index] for point in found}) for index in range(2))
    if len(found) != len(shares) * len(ranges) or len(shares) < 2 or len(ranges) < 2:
        raise ClaimsError(f"{run.directory}: needs each share of publication servers with each advertisement range")
    if not all(measured.medym for measured in found.values()):
        return Measurement(values=(None,) * 4)
    excess = {point: measured.forwarding / measured.medym for point, measured in found.items()}
    fewer = [excess[few, width] / excess[many, width] - 1 for width in ranges for few, many in pairwise(shares)]
    narrower = [
        excess[share, small] / excess[share, large] - 1 for share in shares for small, large in pairwise(ranges)
    ]
    nearness = fmean(measured.medym / measured.product for measured in found.values())
    return Measurement(values=(_NEAR - abs(nearness - 1), min(excess.values()) - 1, min(fewer), min(narrower)))


def replications(run: MeasuredRun) -> Mapping[tuple[float, float], Replication]:
    """Replication by the share of publication servers and the advertisement range, both in percent."""
    found = {}
    for point, schemes in by_point(run, (CBF, MEDYM)).items():
        share, width = (float(part) for part in point.split("+"))
        found[share, width] = Replication(
            share * width / 1e4, replication_of(run, schemes[MEDYM]), replication_of(run, schemes[CBF])
        )
    return found


def replication_of(run: MeasuredRun, variant: MeasuredVariant) -> float:
    """Mean share of the servers that store a subscription, under the scheme of the variant."""
    declared = run.once(_read)[variant.name]
    stored = _forwarded(declared, variant.overlay) if variant.name.endswith(CBF) else _multicast(declared)
    return stored / _pairs(declared, variant.overlay)


def _read(run: MeasuredRun) -> Mapping[str, _Declared]:
    found = {variant.name: _Declared() for variant in run.variants}
    for record in run.records(SUBSCRIBERS, b'"event":"subscribe"'):
        found[record.variant].values[record.client or "", record.id or ""] = _value(record.predicates or ())
    for broker in run.brokers:
        operations: dict[str, int] = defaultdict(int)
        for record in run.records(broker, b'"event":"received"'):
            declared, id = found[record.variant], record.id or ""
            if record.peer is not None:
                if record.kind == Kind.SUBSCRIBE.word:
                    declared.received.add(Subscribed(broker, record.peer, id))
            elif record.kind in (Kind.SUBSCRIBE.word, Kind.ADVERTISE.word):
                # A broker numbers the operations of its own clients in order of arrival, whatever their kind.
                operations[record.variant] += 1
                if record.kind == Kind.SUBSCRIBE.word:
                    value = declared.values[record.client or "", id]
                    declared.wanted[f"{broker}.1.{operations[record.variant]}"] = broker, value
    return found


def _value(predicates: Sequence[PredicateRecord]) -> int:
    for predicate in predicates:
        if predicate.attribute == VALUE and predicate.operator == "=" and predicate.number is not None:
            return int(predicate.number)
    raise ClaimsError(f"a subscription does not say {VALUE} = a number")


def _pairs(declared: _Declared, overlay: Overlay) -> int:
    """Pairs of a subscription and any server."""
    return len(set(declared.wanted.values())) * len(overlay.brokers)


def _multicast(declared: _Declared) -> int:
    """Pairs of a subscription and a server that stores it under MEDYM."""
    return len({(receiver, *declared.wanted[id]) for receiver, _, id in declared.received})


def _forwarded(declared: _Declared, overlay: Overlay) -> int:
    """Pairs of a subscription and a server that stores it under content-based forwarding."""
    numbers, behind = _numbers(overlay), dict(_directions(overlay))
    wanting: dict[int, int] = defaultdict(int)
    for server, value in declared.wanted.values():
        wanting[value] |= 1 << numbers[server]
    distinct = {(receiver, neighbour, declared.wanted[id][1]) for receiver, neighbour, id in declared.received}
    return sum((behind[receiver, neighbour] & wanting[value]).bit_count() for receiver, neighbour, value in distinct)


def _numbers(overlay: Overlay) -> Mapping[BrokerId, int]:
    return {broker.id: number for number, broker in enumerate(overlay.brokers)}


def _directions(overlay: Overlay) -> Iterator[tuple[tuple[BrokerId, BrokerId], int]]:
    """For each server and neighbour of a tree, the servers in the neighbour's direction, as bits by their numbers."""
    numbers, graph = _numbers(overlay), overlay.to_networkx()
    if not nx.is_tree(graph):
        raise ClaimsError("the overlay is no tree")
    root = overlay.brokers[0].id
    below = {broker: 1 << number for broker, number in numbers.items()}
    every = (1 << len(numbers)) - 1
    for parent, child in reversed(list(nx.bfs_edges(graph, root))):
        below[parent] |= below[child]
    for parent, child in nx.bfs_edges(graph, root):
        yield (parent, child), below[child]
        yield (child, parent), every & ~below[child]
