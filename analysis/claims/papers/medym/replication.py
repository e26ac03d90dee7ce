"""Replication of subscriptions with advertisements (MEDYM, section 5.2.1, figure 6).

A *subscription* is a value that a server wants. Its *replication* is the share of all servers that store it for that
server; a measurement is the mean over subscriptions.

- Under MEDYM and channelization these are the other servers with an advertisement that contains the value, because no
  other server ever matches with it. They follow from the clients' operations.
- Under content-based forwarding they are the servers that got a subscription to the value from a neighbour in whose
  direction the server is. A neighbour subscribes once for all servers behind it.

Variants are called `<publication servers>+<advertisement range>`, both in percent, and route by content on a tree.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import fmean
from typing import NamedTuple

import networkx as nx

from analysis.claims.measured_run import MeasuredRun
from analysis.claims.model import ClaimsError, Recipe
from analysis.claims.verdict import Measurement
from record.log import Event, PredicateRecord
from topology.link_properties import BrokerId
from topology.model import Overlay

VALUE = "value"
"""Attribute that holds the integer."""
SUBSCRIBERS, PUBLISHERS = "subscribers", "publishers"
"""Logs of the driver processes."""
_NEAR = 0.1
"""Largest relative difference of numbers that are equal but for chance."""


class Replication(NamedTuple):
    """Mean shares of servers at a point."""

    product: float
    """Share of publication servers times advertisement range."""
    needed: float
    stored: float
    """By content-based forwarding."""


@dataclass(slots=True)
class _Declared:
    """Operations of the clients of a variant, and subscriptions that servers received of each other."""

    values: dict[tuple[str, str], int] = field(default_factory=dict)
    """The value of each subscription, by client and the client's name for it."""
    ranges: dict[str, list[tuple[int, int]]] = field(default_factory=lambda: defaultdict(list))
    """Lowest and highest value of the advertisements of each client."""
    servers: dict[str, BrokerId] = field(default_factory=dict)
    """The server of each client."""
    contents: dict[str, int] = field(default_factory=dict)
    """The value of each subscription, by the identifier that its server gave it."""
    received: set[tuple[BrokerId, BrokerId, str]] = field(default_factory=set)
    """Receiver, neighbour and identifier of each subscription that came from a neighbour."""


def replication(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """Margins of the statements about figure 6.

    1. What servers need under MEDYM and channelization is the product of the share of publication servers and the
       advertisement range: `_NEAR` minus the relative difference, on average over points.
    2. Content-based forwarding stores more: the smallest relative excess over all points.
    3. The excess is the larger, the fewer servers publish, and
    4. the smaller the range: the smallest relative difference of neighbouring points.
    """
    found = replications(run)
    shares, ranges = (sorted({point[index] for point in found}) for index in range(2))
    if len(found) != len(shares) * len(ranges) or len(shares) < 2 or len(ranges) < 2:
        raise ClaimsError(f"{run.directory}: needs each share of publication servers with each advertisement range")
    excess = {point: measured.stored / measured.needed for point, measured in found.items()}
    fewer = [excess[few, width] / excess[many, width] - 1 for width in ranges for few, many in pairwise(shares)]
    narrower = [
        excess[share, small] / excess[share, large] - 1 for share in shares for small, large in pairwise(ranges)
    ]
    nearness = fmean(measured.needed / measured.product for measured in found.values())
    return Measurement(values=(_NEAR - abs(nearness - 1), min(excess.values()) - 1, min(fewer), min(narrower)))


def replications(run: MeasuredRun) -> Mapping[tuple[float, float], Replication]:
    """Replication by the share of publication servers and the advertisement range, both in percent."""
    declared = _read(run)
    found = {}
    for variant in run.variants:
        share, width = (float(part) for part in variant.name.split("+"))
        operations, servers = declared[variant.name], len(variant.overlay.brokers)
        wanting = _wanting(operations, variant.overlay)
        pairs = servers * sum(bits.bit_count() for bits in wanting.values())
        needed = sum(_needed(value, bits, operations, variant.overlay) for value, bits in wanting.items())
        stored = _stored(operations, wanting, variant.overlay)
        found[share, width] = Replication(share * width / 1e4, needed / pairs, stored / pairs)
    return found


def _read(run: MeasuredRun) -> Mapping[str, _Declared]:
    found = {variant.name: _Declared() for variant in run.variants}
    for record in run.records(SUBSCRIBERS, b'"event":"subscribe"'):
        value = _number(record.predicates or (), "=")
        found[record.variant].values[record.client or "", record.id or ""] = value
    for record in run.records(PUBLISHERS, b'"event":"advertise"'):
        predicates = record.predicates or ()
        interval = _number(predicates, ">="), _number(predicates, "<=")
        found[record.variant].ranges[record.client or ""].append(interval)
    for broker in run.brokers:
        operations: dict[str, int] = defaultdict(int)
        for record in run.records(broker, b'"event":"received"'):
            declared, id = found[record.variant], record.id or ""
            if record.peer is not None:
                if record.kind == Event.SUBSCRIBE:
                    declared.received.add((broker, record.peer, id))
            elif record.kind in (Event.SUBSCRIBE, Event.ADVERTISE):
                # A broker numbers the operations of its own clients in order of arrival, whatever their kind.
                operations[record.variant] += 1
                declared.servers[record.client or ""] = broker
                if record.kind == Event.SUBSCRIBE:
                    value = declared.values[record.client or "", id]
                    declared.contents[f"{broker}.1.{operations[record.variant]}"] = value
    return found


def _number(predicates: Sequence[PredicateRecord], operator: str) -> int:
    for predicate in predicates:
        if predicate.attribute == VALUE and predicate.operator == operator and predicate.number is not None:
            return int(predicate.number)
    raise ClaimsError(f"an operation does not say {VALUE} {operator} a number")


def _numbers(overlay: Overlay) -> Mapping[BrokerId, int]:
    return {broker.id: number for number, broker in enumerate(overlay.brokers)}


def _wanting(operations: _Declared, overlay: Overlay) -> Mapping[int, int]:
    """The servers that want each value, as bits by their numbers."""
    numbers = _numbers(overlay)
    found: dict[int, int] = defaultdict(int)
    for (client, _), value in operations.values.items():
        found[value] |= 1 << numbers[operations.servers[client]]
    return found


def _needed(value: int, wanting: int, operations: _Declared, overlay: Overlay) -> int:
    """Pairs of a server that wants a value and another one that advertises it."""
    numbers = _numbers(overlay)
    advertising = {
        numbers[operations.servers[client]]
        for client, ranges in operations.ranges.items()
        if any(low <= value <= high for low, high in ranges)
    }
    return sum(wanting.bit_count() - (wanting >> server & 1) for server in advertising)


def _stored(operations: _Declared, wanting: Mapping[int, int], overlay: Overlay) -> int:
    """Pairs of a server that wants a value and one that stores that for it under content-based forwarding."""
    behind = dict(_directions(overlay))
    distinct = {(receiver, neighbour, operations.contents[id]) for receiver, neighbour, id in operations.received}
    return sum((behind[receiver, neighbour] & wanting[value]).bit_count() for receiver, neighbour, value in distinct)


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
