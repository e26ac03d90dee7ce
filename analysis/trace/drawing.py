"""The contents of a trace: slices and instants on tracks, flows between slices, and counters.

1. A track belongs to a process of the viewer: a broker, the clients of a broker, or the emulator. It is a row, or more
   where slices overlap (`analysis.trace.lanes`).
2. A flow leads from one slice to one other. So a publication that forks has a flow to each branch, and a viewer that
   follows flows from its publishing finds all of its ways. A set of publications, for a composite subscription, has a
   flow from each of them.

Times are nanoseconds of the run's clock.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

Fact = str | int
Facts = Mapping[str, Fact]


@dataclass(frozen=True, slots=True, order=True)
class Process:
    """A group of tracks."""

    number: int
    """Number of the process among all, from 1."""
    name: str


@dataclass(frozen=True, slots=True, order=True)
class Track:
    """A row of the viewer."""

    process: Process
    rank: int
    """Position of the track in its process; tracks of one rank are in the order of their names."""
    name: str


@dataclass(slots=True, eq=False)
class Slice:
    """A stretch of time on a track."""

    track: Track
    begin: int
    end: int
    name: str
    publication: str
    """Empty for a slice of no publication."""
    facts: Facts = field(default_factory=dict)
    inner: Sequence[tuple[int, int, str]] = ()
    """Begin, end and name of stretches in it, one after another."""
    arriving: list[int] = field(default_factory=list)
    """The flows that lead to it."""
    leaving: list[int] = field(default_factory=list)

    @property
    def on_a_way(self) -> bool:
        """False for what happens beside the ways of publications."""
        return bool(self.arriving or self.leaving)


@dataclass(frozen=True, slots=True)
class Instant:
    """A moment on a track."""

    track: Track
    time: int
    name: str
    facts: Facts = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Counter:
    """A number over time."""

    process: Process
    name: str
    unit: str
    samples: Sequence[tuple[int, int]]
    """Time and value, in order of time."""


@dataclass(slots=True)
class Drawing:
    """Collects the contents of a trace, causes before their effects."""

    slices: list[Slice] = field(default_factory=list)
    instants: list[Instant] = field(default_factory=list)
    counters: list[Counter] = field(default_factory=list)
    flows: int = 0

    def add(self, drawn: Slice, after: Slice | None = None) -> Slice:
        """Adds a slice, with a flow from the one before it on the publication's way."""
        self.slices.append(drawn)
        if after is not None:
            self.flow(after, drawn)
        return drawn

    def flow(self, before: Slice, after: Slice) -> None:
        """Leads from a slice to a later one."""
        self.flows += 1
        before.leaving.append(self.flows)
        after.arriving.append(self.flows)

    def ways_to(self, ends: Iterable[Slice]) -> list[Slice]:
        """The slices on the ways to some slices, these included, in the order drawn."""
        sources = {flow: drawn for drawn in self.slices for flow in drawn.leaving}
        found: set[Slice] = set()
        for end in ends:
            at: Slice | None = end
            while at is not None and at not in found:
                found.add(at)
                at = next((sources[flow] for flow in at.arriving), None)
        return [drawn for drawn in self.slices if drawn in found]

    def onward(self, drawn: Slice, after: Slice | None) -> Slice | None:
        """Adds a slice as `add` does, unless it takes no time. Returns the last one on the publication's way."""
        return self.add(drawn, after) if drawn.end > drawn.begin else after
