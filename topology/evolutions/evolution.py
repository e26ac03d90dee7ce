"""An overlay that changes: links appear and vanish at given times.

1. Times are seconds since the start. Changes at one time happen together: the overlay has a *moment* before them and
   one after them, and none in between.
2. The brokers stay the same. A link that vanished may appear again, with other properties; that is another link, which
   has nothing of the former's queue.
3. Every moment is connected, unless the start may be partitioned (`Overlay.may_be_partitioned`).
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import attrgetter

import networkx as nx

from topology.link_properties import BrokerId, Link, OverlayError
from topology.model import LinkSource, Overlay

MOST_CHANGES = 2_000_000
"""A bound on memory: an hour of 300 changes a second is 1,080,000."""
Ends = frozenset[BrokerId]


@dataclass(frozen=True, slots=True)
class Appears:
    """A link comes into being, with these properties."""

    at: float
    """Seconds since the start."""
    link: Link


@dataclass(frozen=True, slots=True)
class Vanishes:
    """The link between two brokers ceases to exist."""

    at: float
    """Seconds since the start."""
    a: BrokerId
    b: BrokerId


Change = Appears | Vanishes


@dataclass(frozen=True, slots=True)
class Lifetime:
    """The existence of one link, between two positions in `Evolution.changes`."""

    link: Link
    appearance: int | None
    """Place of the change with which the link appears; None for a link of the start."""
    disappearance: int | None
    """Place of the change with which it vanishes; None for a link that is there when the changes end."""


@dataclass(frozen=True, slots=True)
class Moment:
    """A time between changes."""

    begin: float
    end: float
    parts: int
    """Parts of the overlay without a path between them."""
    pairs: float
    """Share of the pairs of brokers that have a path."""


@dataclass(frozen=True, slots=True)
class Connectivity:
    """Connectedness of an overlay over some time."""

    time: float
    """Share of the time in which the overlay is connected."""
    pairs: float
    """Share of the pairs of brokers that have a path, on average over the time."""


@dataclass(frozen=True)
class Evolution:
    """A start and all changes, in order of time. Raises `OverlayError` for changes that are impossible."""

    start: Overlay
    changes: tuple[Change, ...]

    def __post_init__(self) -> None:
        if len(self.changes) > MOST_CHANGES:
            raise OverlayError(f"{len(self.changes):,} changes of links; {MOST_CHANGES:,} is the most")
        _check(self)
        if not self.start.may_be_partitioned:
            for moment in self.moments(math.inf):
                if moment.parts > 1:
                    raise OverlayError(
                        f"{moment.begin:g} s after its start the overlay is disconnected: {moment.parts} parts without "
                        "a path between them; write `partitions: allowed`, or keep more links"
                    )

    def at(self, time: float) -> Overlay:
        """The overlay at this time, after the changes of the same time."""
        links = {_ends(link): link for link in self.start.links}
        for change in self.changes:
            if change.at > time:
                break
            if isinstance(change, Appears):
                links[_ends(change.link)] = change.link
            else:
                del links[frozenset((change.a, change.b))]
        return replace(self.start, links=tuple(links.values()))

    def since(self, time: float) -> Evolution:
        """The evolution from this time on, with times counted from there."""
        later = (replace(change, at=change.at - time) for change in self.changes if change.at > time)
        return Evolution(self.at(time), tuple(later))

    def later(self, time: float) -> Evolution:
        """A copy whose changes happen this many seconds later."""
        return Evolution(self.start, tuple(replace(change, at=change.at + time) for change in self.changes))

    def links(self) -> tuple[Link, ...]:
        """All links that exist at some time, each once: those of the start, then in order of first appearance."""
        appearing = (change.link for change in self.changes if isinstance(change, Appears))
        return tuple(dict.fromkeys([*self.start.links, *appearing]))

    def later_links(self) -> tuple[Link, ...]:
        """The first link of each two brokers that are linked at some time and not at the start, in order of time."""
        present = {_ends(link) for link in self.start.links}
        found: dict[Ends, Link] = {}
        for change in self.changes:
            if isinstance(change, Appears) and _ends(change.link) not in present:
                found.setdefault(_ends(change.link), change.link)
        return tuple(found.values())

    def later_pairs(self) -> tuple[tuple[BrokerId, BrokerId], ...]:
        """Pairs of brokers that are linked at some time and not at the start, in order of time."""
        return tuple((link.a, link.b) for link in self.later_links())

    @property
    def linked_ever(self) -> Overlay:
        """The overlay at the start with a link besides for each two brokers that are linked later (`later_links`)."""
        return replace(self.start, links=(*self.start.links, *self.later_links()))

    def most_changes(self, within: float) -> tuple[int, float]:
        """The greatest number of changes within this time, in seconds, and the time of the first of them."""
        recent: deque[float] = deque()
        most, begin = 0, 0.0
        for change in self.changes:
            recent.append(change.at)
            while recent[0] <= change.at - within:
                recent.popleft()
            if len(recent) > most:
                most, begin = len(recent), recent[0]
        return most, begin

    def lifetimes(self) -> tuple[Lifetime, ...]:
        """The lifetime of every link: those of the start first, then in order of appearance."""
        lifetimes = [Lifetime(link, None, None) for link in self.start.links]
        present = {_ends(lifetime.link): number for number, lifetime in enumerate(lifetimes)}
        for position, change in enumerate(self.changes):
            if isinstance(change, Appears):
                present[_ends(change.link)] = len(lifetimes)
                lifetimes.append(Lifetime(change.link, position, None))
            else:
                number = present.pop(frozenset((change.a, change.b)))
                lifetimes[number] = replace(lifetimes[number], disappearance=position)
        return tuple(lifetimes)

    def durations(self) -> list[float]:
        """Seconds from the appearance to the disappearance of each link that vanishes."""
        return [
            self.changes[lifetime.disappearance].at
            - (0.0 if lifetime.appearance is None else self.changes[lifetime.appearance].at)
            for lifetime in self.lifetimes()
            if lifetime.disappearance is not None
        ]

    def moments(self, end: float) -> Iterator[Moment]:
        """The moments until this time, in order, the first of which begins at 0."""
        graph = self.start.to_networkx()
        parts, begin = nx.number_connected_components(graph), 0.0
        for at, group in groupby(self.changes, key=attrgetter("at")):
            if at >= end:
                break
            if at > begin:
                yield _moment(graph, begin, at, parts)
            for change in group:
                parts += _apply(graph, change)
            begin = at
        if end > begin:
            yield _moment(graph, begin, end, parts)

    def connectivity(self, end: float) -> Connectivity:
        """Connectedness from the start to this time, which is more than 0."""
        time = pairs = 0.0
        for moment in self.moments(end):
            time += (moment.end - moment.begin) * (moment.parts == 1)
            pairs += (moment.end - moment.begin) * moment.pairs
        return Connectivity(time / end, pairs / end)


@dataclass(frozen=True, slots=True)
class ReappearingLinks(LinkSource):
    """Links that keep an overlay's own properties when they appear again. For other pairs of brokers another source
    decides."""

    overlay: Overlay
    others: LinkSource

    def between(self, a: BrokerId, b: BrokerId) -> Link:
        try:
            return self.overlay.link(a, b)
        except KeyError:
            return self.others.between(a, b)


def _ends(link: Link) -> Ends:
    return frozenset((link.a, link.b))


def _check(evolution: Evolution) -> None:
    """Raises `OverlayError` unless each change is possible when its time has come."""
    brokers = {broker.id for broker in evolution.start.brokers}
    present = {_ends(link) for link in evolution.start.links}
    last = 0.0
    for change in evolution.changes:
        a, b = (change.link.a, change.link.b) if isinstance(change, Appears) else (change.a, change.b)
        named = f"link {a} - {b} at {change.at:g} s"
        if not 0 <= change.at < math.inf:
            raise OverlayError(f"{named}: a change is zero or more seconds after the start")
        if change.at < last:
            raise OverlayError(f"{named}: comes after a change at {last:g} s; list changes in order of time")
        last = change.at
        if unknown := {a, b} - brokers:
            raise OverlayError(f"{named}: there is no broker {min(unknown)!r}")
        if a == b:
            raise OverlayError(f"{named}: a broker cannot be linked to itself")
        if isinstance(change, Appears) == (frozenset((a, b)) in present):
            problem = "appears, and is there already" if isinstance(change, Appears) else "vanishes, and is not there"
            raise OverlayError(f"{named}: {problem}")
        present ^= {frozenset((a, b))}


def _apply(graph: nx.Graph[BrokerId], change: Change) -> int:
    """Makes a change in a graph; returns by how much the number of parts grows."""
    if isinstance(change, Vanishes):
        graph.remove_edge(change.a, change.b)
        return int(not nx.has_path(graph, change.a, change.b))
    a, b = change.link.a, change.link.b
    joined = int(not nx.has_path(graph, a, b))
    graph.add_edge(a, b)
    return -joined


def _moment(graph: nx.Graph[BrokerId], begin: float, end: float, parts: int) -> Moment:
    if parts == 1:
        return Moment(begin, end, parts, 1.0)
    sizes = [len(part) for part in nx.connected_components(graph)]
    return Moment(begin, end, parts, _connected_pairs(sizes))


def _connected_pairs(sizes: Sequence[int]) -> float:
    """Share of all pairs of nodes that are within one part."""
    total = sum(sizes)
    return sum(size * (size - 1) for size in sizes) / (total * (total - 1))
