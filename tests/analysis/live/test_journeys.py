"""The sample of publications that the page follows: the judge's own, whatever the order of the logs."""

from __future__ import annotations

import random
from pathlib import Path
from zlib import crc32

import pytest

from analysis.engines import PlainEngine
from analysis.judging.journeys.spread import MOST_SAMPLED
from analysis.live.follower import Follower
from analysis.live.frames import Followed, Visit
from analysis.live.journeys import JourneySample
from analysis.pipeline import analyze
from analysis.tables.motion import Spread
from analysis.tables.results import read_table
from emulation.planning.plan import make_plan
from emulation.simulation.run import simulate
from record.files import RESULTS
from record.log import Event, TraceRecord
from scenario.loading import load_text

SCENARIO = """
name: moved
topology: {kind: random-regular, brokers: 8, degree: 4, link: {delay: 5ms}}
motion: {kind: rewire, every: 1s, repaired_after: 100ms, degree: 4}
routing: {protocol: semi-probabilistic, threshold: 0.5, horizon: 1}
workload:
  kind: patterns
  publications: {rate: 4/s, receivers: 40%}
timeline: {join: 2s, run: 4s, drain: 1s}
time_dilation: 2
"""


def received(publication: str, broker: str, time: int, peer: str | None = None) -> TraceRecord:
    return TraceRecord(
        time=time, node=broker, variant="base", event=Event.RECEIVED, kind="publish", id=publication, peer=peer
    )


def test_the_first_arrival_at_each_broker_counts() -> None:
    sample = JourneySample()
    for record in (received("p", "B2", 9, "B1"), received("p", "B1", 5), received("p", "B2", 7, "B3")):
        sample.add(record)
    assert sample.followed({"B1": 0, "B2": 1, "B3": 2}, 1.0) == [Followed("p", [Visit(5.0, 0, -1), Visit(7.0, 1, 2)])]


def test_the_smallest_hashes_are_kept_whatever_the_order() -> None:
    names = [str(name) for name in range(300)]
    records = [received(name, broker, int(name) + 1) for name in names for broker in ("B1", "B2")]
    random.Random(7).shuffle(records)
    sample = JourneySample()
    for record in records:
        sample.add(record)
    found = sample.followed({"B1": 0, "B2": 1}, 1.0)
    assert {followed.name for followed in found} == set(
        sorted(names, key=lambda name: crc32(name.encode()))[:MOST_SAMPLED]
    )
    assert all(len(followed.visits) == 2 for followed in found)


def test_the_page_follows_what_the_table_of_spreads_has(tmp_path: Path) -> None:
    run = simulate(make_plan(load_text(SCENARIO, "moved.yaml")), tmp_path).directory
    analyze(run, PlainEngine())
    follower = Follower(run)
    follower.look()
    assert follower.state().variants[0].followed == [], "the sample is complete when the run is over"
    follower.finish()
    (variant,) = follower.state().variants
    assert variant.overlay is not None
    names = [broker.name for broker in variant.overlay.brokers]
    (zero,) = [phase.begin for phase in variant.phases if phase.name == "run"]
    shown = {
        (followed.name, names[visit.broker]): visit.at - zero
        for followed in variant.followed
        for visit in followed.visits
    }
    judged = {(row.publication, row.broker): row.reached_s for row in read_table(run / RESULTS, Spread)}
    assert len(judged) > MOST_SAMPLED
    assert shown == pytest.approx(judged, abs=2e-6)
    neighbours = {(names[a], names[b]) for a, b in variant.overlay.links}
    arrivals = [visit for followed in variant.followed for visit in followed.visits if visit.sender >= 0]
    assert {(names[visit.sender], names[visit.broker]) for visit in arrivals} <= neighbours
