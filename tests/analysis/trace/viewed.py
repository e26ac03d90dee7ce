"""A file for Perfetto, read back as its viewer reads it: by rows, begins, ends and flows alone."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from operator import attrgetter, itemgetter

from analysis.generated.trace_file_pb2 import Trace, TrackEvent

NOTIFIED = " notified of "


@dataclass(slots=True, eq=False)
class Seen:
    """A slice."""

    process: str
    track: str
    name: str
    begin: int
    end: int
    depth: int
    """Slices around it in its row."""
    arriving: Sequence[int]
    leaving: Sequence[int]
    facts: Mapping[str, int | str] = field(default_factory=dict)

    @property
    def lasts(self) -> int:
        return self.end - self.begin


@dataclass(frozen=True)
class Viewed:
    """A file."""

    slices: list[Seen]
    instants: list[Seen]
    counters: dict[tuple[str, str], list[tuple[int, int]]]
    """Times and values by process and name."""

    @cached_property
    def sources(self) -> dict[int, Seen]:
        """The slice from which each flow leads."""
        return {flow: seen for seen in self.slices for flow in seen.leaving}

    def named(self, name: str) -> Seen:
        (found,) = [seen for seen in self.slices if seen.name == name]
        return found

    def on(self, process: str, track: str) -> list[Seen]:
        return [seen for seen in self.slices if (seen.process, seen.track) == (process, track)]

    def way_to(self, seen: Seen) -> list[Seen]:
        """The slices from which flows lead to a slice, the first one first."""
        way = [seen]
        while way[-1].arriving:
            (flow,) = way[-1].arriving
            way.append(self.sources[flow])
        return way[::-1]

    @property
    def notifications(self) -> list[Seen]:
        return [seen for seen in self.slices if NOTIFIED in seen.name]

    def wrong_ways(self, delays: Iterable[tuple[str, str, int]]) -> list[str]:
        """A sentence for each notification whose slices have gaps, or do not add up to its delay.

        `delays` has publication, client and delay in nanoseconds, by the tables of the analysis.
        """
        of_tables: defaultdict[str, list[int]] = defaultdict(list)
        for publication, client, delay in delays:
            of_tables[f"{client}{NOTIFIED}{publication}"].append(delay)
        found = []
        shown: defaultdict[str, list[int]] = defaultdict(list)
        for seen in self.notifications:
            way = self.way_to(seen)
            shown[seen.name].append(sum(part.lasts for part in way))
            gaps = [after.name for before, after in pairwise(way) if before.end != after.begin]
            found += [f"{seen.name}: a gap before {name!r}" for name in gaps]
        for name, expected in of_tables.items():
            if sorted(shown[name]) != sorted(expected):
                found.append(f"{name}: {shown[name]} ns in slices, {expected} ns in the tables")
        return found

    def wrong_flows(self) -> list[str]:
        """A sentence for each flow that does not lead from one slice to a later one, as a viewer's arrows do."""
        leaving, arriving = (
            Counter(flow for seen in [*self.slices, *self.instants] for flow in flows(seen))
            for flows in (attrgetter("leaving"), attrgetter("arriving"))
        )
        found = [f"flow {flow}: {leaving[flow]} begins and {arriving[flow]} ends" for flow in leaving | arriving
                 if (leaving[flow], arriving[flow]) != (1, 1)]  # fmt: skip
        for seen in self.slices:
            for flow in seen.arriving:
                if (source := self.sources.get(flow)) is not None and source.begin > seen.begin:
                    found.append(f"flow {flow}: {source.name} begins after {seen.name}")
        return found

    def wrong_counters(self) -> list[str]:
        """The counters whose samples are not in order of time."""
        return [name for (_, name), samples in self.counters.items() if samples != sorted(samples, key=itemgetter(0))]


def view(content: bytes) -> Viewed:
    """Reads a file. Fails where an end has no begin, a begin no end, or times go backwards."""
    processes: dict[int, str] = {}
    tracks: dict[int, tuple[str, str]] = {}
    open_slices: defaultdict[int, list[Seen]] = defaultdict(list)
    viewed = Viewed([], [], {})
    latest = 0
    for packet in Trace.FromString(content).packet:
        described, event = packet.track_descriptor, packet.track_event
        if described.HasField("process"):
            processes[described.uuid] = described.process.process_name
        elif described.uuid:
            tracks[described.uuid] = processes[described.parent_uuid], described.name
        if not event.type:
            continue
        process, track = tracks[event.track_uuid]
        if event.type == TrackEvent.COUNTER:
            assert event.HasField("counter_value")
            viewed.counters.setdefault((process, track), []).append((packet.timestamp, event.counter_value))
            continue
        assert packet.timestamp >= latest
        latest = packet.timestamp
        around = open_slices[event.track_uuid]
        if event.type == TrackEvent.SLICE_END:
            around.pop().end = packet.timestamp
            continue
        facts = {
            fact.name: fact.int_value if fact.HasField("int_value") else fact.string_value
            for fact in event.debug_annotations
        }
        seen = Seen(
            process, track, event.name, packet.timestamp, packet.timestamp, len(around),
            list(event.terminating_flow_ids), list(event.flow_ids), facts,
        )  # fmt: skip
        if event.type == TrackEvent.INSTANT:
            viewed.instants.append(seen)
        else:
            around.append(seen)
            viewed.slices.append(seen)
    assert not any(open_slices.values())
    return viewed
