"""The file of a simulated run, read back, against the tables of its analysis."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest

from analysis.engines import PlainEngine
from analysis.generated.trace_file_pb2 import Trace
from analysis.pipeline import analyze
from analysis.query import open_tables
from analysis.trace import Choice, make_trace
from emulation.planning.plan import make_plan
from emulation.simulation.run import simulate
from record.errors import BadInputError
from scenario.loading import load_text
from tests.analysis.trace.viewed import Viewed, view

SCENARIO = """
name: traced
topology: {kind: ring, brokers: 6, link: {delay: 3ms, bandwidth: 100kbit}}
routing: {protocol: tid}
vary: {routing.publications: [fixed, dynamic]}
workload:
  publications: {source: stocks, publishers: 3, rate: 30/s}
  subscriptions: {subscribers: 6, selectivity: 40%}
timeline: {join: 4s, run: 8s, drain: 4s}
brokers: {service_time: 1ms}
faults:
  - {at: run+3s, degrade: B1-B2, delay: 20ms, for: 2s}
seed: 3
"""
EVERYTHING = Choice(variant="dynamic", worst=100_000)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = simulate(make_plan(load_text(SCENARIO, "traced")), tmp_path_factory.mktemp("runs")).directory
    analyze(directory, PlainEngine())
    return directory


@pytest.fixture(scope="module")
def content(run: Path) -> bytes:
    return traced(run, EVERYTHING)


@pytest.fixture(scope="module")
def viewed(content: bytes) -> Viewed:
    return view(content)


def traced(run: Path, choice: Choice, name: str = "journeys.pftrace") -> bytes:
    make_trace(run, choice, run / name)
    return (run / name).read_bytes()


def delays(run: Path, variant: str = "dynamic") -> Iterator[tuple[str, str, int]]:
    asked = (
        "SELECT publication, client, notified_ns - intended_ns FROM notifications "
        f"WHERE variant = '{variant}' AND intended_ns IS NOT NULL"
    )
    with open_tables([run]) as tables:
        for batch in tables.answer(asked).batches:
            yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


def test_slices_of_every_way_add_up_to_the_delay_of_the_notification(run: Path, viewed: Viewed) -> None:
    assert len(viewed.notifications) == len(list(delays(run))) > 300
    assert viewed.wrong_ways(delays(run)) == []
    assert not any("not in the log" in seen.name for seen in viewed.slices)


def test_flows_and_counters_are_as_a_viewer_needs_them(viewed: Viewed) -> None:
    assert len(viewed.sources) > 1000 and sum(map(len, viewed.counters.values())) > 100
    assert viewed.wrong_flows() == viewed.wrong_counters() == []


def test_a_wrong_flow_and_a_wrong_counter_are_named(content: bytes) -> None:
    """One flow ends twice, another nowhere, and a counter goes back in time."""
    trace = Trace.FromString(content)
    ending = [packet.track_event for packet in trace.packet if packet.track_event.terminating_flow_ids]
    (first,), (second,) = (event.terminating_flow_ids for event in ending[:2])
    ending[1].terminating_flow_ids[0] = first
    counting = [packet for packet in trace.packet if packet.track_event.type == packet.track_event.COUNTER]
    counting[0].timestamp = counting[-1].timestamp + 1
    seen = view(trace.SerializeToString())
    assert f"flow {first}: 1 begins and 2 ends" in seen.wrong_flows()
    assert f"flow {second}: 1 begins and 0 ends" in seen.wrong_flows()
    assert len(seen.wrong_counters()) == 1


def test_a_wrong_span_is_found(run: Path, content: bytes) -> None:
    """A microsecond that a link's slice has too much is named with the notification."""
    trace = Trace.FromString(content)
    tracks = {packet.track_descriptor.uuid: packet.track_descriptor.name for packet in trace.packet}
    ends = [
        packet
        for packet in trace.packet
        if packet.track_event.type == packet.track_event.SLICE_END
        and tracks[packet.track_event.track_uuid].startswith("link")
    ]
    ends[len(ends) // 2].timestamp += 1_000
    trace.packet.sort(key=lambda packet: packet.timestamp)
    wrong = view(trace.SerializeToString()).wrong_ways(delays(run))
    assert any("ns in slices" in sentence for sentence in wrong)
    assert any("a gap before" in sentence for sentence in wrong)


def test_ways_and_waits_are_those_of_the_tables(run: Path, viewed: Viewed) -> None:
    """Brokers on the way, and the waits in queues, of every notification of which the tables have them."""
    shown: dict[tuple[str, str], tuple[list[str], float]] = {}
    for seen in viewed.notifications:
        client, _, publication = seen.name.partition(" notified of ")
        way = viewed.way_to(seen)
        brokers = [part.process.removeprefix("broker ") for part in way if part.track.startswith("queue")]
        queued = sum(part.lasts for part in way if part.track.startswith("queue")) / 1e6
        shown[publication, client] = [*brokers, seen.process.removeprefix("clients of ")], queued
    asked = "SELECT publication, client, path, queueing_ms FROM notifications WHERE variant = 'dynamic' AND repeat = 0"
    with open_tables([run]) as tables:
        rows = [tuple(row.values()) for batch in tables.answer(asked).batches for row in batch.to_pylist()]
    assert sum(len(path) > 2 for _, _, path, _ in rows) > 50
    for publication, client, path, queueing in rows:
        brokers, queued = shown[publication, client]
        assert (brokers, queued) == (path, pytest.approx(queueing, abs=1e-5)), (publication, client)


def test_queues_of_slices_never_exceed_the_gauge(viewed: Viewed) -> None:
    """Each message that a gauge counts is a slice in its queue at that time, where every publication is drawn."""
    compared = 0
    for (process, name), samples in viewed.counters.items():
        if name.startswith("waiting for B"):
            queue = viewed.on(process, f"queue → {name.removeprefix('waiting for ')}")
            for time, value in samples:
                waiting = sum(seen.begin < time < seen.end for seen in queue)
                assert waiting <= value, (process, name, time)
                compared += value
    assert compared > 0


def test_faults_phases_and_the_work_of_brokers_are_there(viewed: Viewed) -> None:
    assert [seen.name for seen in viewed.on("emulator", "faults")] == ["degrade B1-B2"]
    assert [seen.name for seen in viewed.on("emulator", "phases")] == ["start", "join", "run", "drain", "stop"]
    work = viewed.counters["broker B1", "processor"]
    assert 0 < max(value for _, value in work) <= 1_000


def test_the_same_run_gives_the_same_bytes(run: Path) -> None:
    choice = Choice(variant="fixed", worst=10, sample=10)
    for name in ("one.pftrace", "one.json"):
        assert traced(run, choice, name) == traced(run, choice, f"another{Path(name).suffix}")
    assert traced(run, choice) != traced(run, Choice(variant="fixed", worst=10, sample=10, seed=2))


def test_json_has_the_same_slices_and_flows(run: Path, viewed: Viewed) -> None:
    events = json.loads(traced(run, EVERYTHING, "journeys.json"), parse_float=Decimal)["traceEvents"]
    began: defaultdict[int, list[tuple[str, Decimal]]] = defaultdict(list)
    slices = []
    for event in events:
        if event["ph"] == "B":
            began[event["tid"]].append((event["name"], event["ts"]))
        elif event["ph"] == "E":
            name, begin = began[event["tid"]].pop()
            slices.append((name, int(begin * 1_000), int(event["ts"] * 1_000)))
    assert sorted(slices) == sorted((seen.name, seen.begin, seen.end) for seen in viewed.slices)
    flows = {event["id"] for event in events if event["ph"] == "s"}
    assert flows == {event["id"] for event in events if event["ph"] == "f"} == set(viewed.sources)


def test_the_choice_is_the_users(run: Path) -> None:
    def chosen(choice: Choice) -> set[str]:
        return {seen.name.partition(" notified of ")[2] for seen in view(traced(run, choice)).notifications}

    slowest = max(delays(run, "fixed"), key=lambda row: row[2])
    assert chosen(Choice(worst=1, sample=0)) == {slowest[0]}
    assert chosen(Choice(publications=(slowest[0],))) == {slowest[0]}
    sample = chosen(Choice(worst=0, sample=5))
    assert len(sample) == 5
    assert sample != chosen(Choice(worst=0, sample=5, seed=2))
    early = view(traced(run, Choice(worst=0, sample=100_000, begin=1, end=2)))
    (phase,) = [seen for seen in early.slices if seen.name == "run"]
    published = [seen.begin for seen in early.slices if seen.name.endswith("is published")]
    assert published
    assert all(1e9 <= time - phase.begin <= 2e9 for time in published)
    assert all(1e9 <= time - phase.begin <= 2e9 for samples in early.counters.values() for time, _ in samples)


@pytest.mark.parametrize(
    ("choice", "name", "words"),
    [
        (Choice(variant="none"), "a.pftrace", "--variant none: the run has no such variant; it has fixed, dynamic"),
        (
            Choice(publications=("P1:1", "P9:9")),
            "a.pftrace",
            "--publications P9:9: there is no such publication in the variant fixed",
        ),
        (Choice(begin=2, end=1), "a.pftrace", "--to 1: it must be later than --from 2"),
        (Choice(), "a.svg", "ends in .pftrace or .json"),
    ],
)
def test_wrong_wishes_are_refused(run: Path, choice: Choice, name: str, words: str) -> None:
    with pytest.raises(BadInputError, match=words):
        make_trace(run, choice, run / name)


def test_too_many_records_are_refused(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("analysis.trace.records.MOST_RECORDS", 1_000)
    with pytest.raises(BadInputError, match="choose fewer"):
        make_trace(run, EVERYTHING, run / "a.pftrace")
