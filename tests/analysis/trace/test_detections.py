"""Detections of composite subscriptions in the file, read back, against the tables of the analysis."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis.engines import PlainEngine
from analysis.pipeline import analyze
from analysis.query import open_tables
from analysis.trace import Choice, make_trace
from emulation.planning.plan import make_plan
from emulation.simulation.run import simulate
from scenario.loading import load_text
from tests.analysis.trace.viewed import Seen, Viewed, view

SCENARIO = """
name: sets
topology: {kind: line, brokers: 4, link: {delay: 2ms}}
routing: {protocol: tid}
vary: {routing.composites: [simple, dcsr]}
workload:
  publications:
    {source: stocks, symbols: 9, publishers: 10, placement: [B1, B2], rate: 2/s, individually: {P1: {rate: 10/s}}}
  subscriptions: {subscribers: 1, selectivity: 10%}
  operations:
    - at: 2s
      client: trader
      broker: B4
      id: both
      composite: "{[class,eq,'STOCK'],[symbol,eq,'AAPL']} & {[class,eq,'STOCK'],[symbol,eq,'MSFT']}"
      within: 50ms
timeline: {join: 4s, run: 5s, drain: 1s}
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = simulate(make_plan(load_text(SCENARIO, "sets.yaml")), tmp_path_factory.mktemp("runs")).directory
    analyze(directory, PlainEngine())
    return directory


def traced(run: Path, choice: Choice) -> Viewed:
    make_trace(run, choice, run / "journeys.pftrace")
    return view((run / "journeys.pftrace").read_bytes())


def origins(viewed: Viewed, seen: Seen) -> set[str]:
    """The publications from whose publishing flows lead to a slice."""
    found, waiting = set(), [seen]
    while waiting:
        at = waiting.pop()
        if at.name.endswith("is published"):
            found.add(at.name.partition(" ")[0])
        waiting += [viewed.sources[flow] for flow in at.arriving]
    return found


@pytest.mark.parametrize("variant", ["simple", "dcsr"])
def test_flows_lead_from_each_publication_of_a_set_to_the_client(run: Path, variant: str) -> None:
    viewed = traced(run, Choice(variant=variant, worst=100_000))
    asked = f"SELECT publications, notified_ns FROM detections WHERE variant = '{variant}'"
    with open_tables([run]) as tables:
        rows = [tuple(row.values()) for batch in tables.answer(asked).batches for row in batch.to_pylist()]
    told = [seen for seen in viewed.slices if seen.name.startswith("trader is told of both: ")]
    assert len(told) == len(rows) > 5
    assert sorted(seen.end for seen in told) == sorted(notified for _, notified in rows)
    assert {frozenset(origins(viewed, seen)) for seen in told} == {frozenset(members) for members, _ in rows}
    sets = [seen for seen in viewed.slices if seen.track == "sets of composites"]
    assert all(len(seen.arriving) == 2 and len(seen.leaving) == 1 for seen in sets)
    assert {seen.process == "broker B4" for seen in sets} == {variant == "simple"}


def test_the_sets_that_took_longest_are_chosen_and_half_a_set_is_drawn(run: Path) -> None:
    chosen = traced(run, Choice(worst=2, sample=0))
    assert any(len(seen.arriving) == 2 for seen in chosen.slices if seen.track == "sets of composites")
    with open_tables([run]) as tables:
        (batch, *_) = tables.answer("SELECT publications FROM detections WHERE variant = 'simple'").batches
    one = batch.to_pylist()[0]["publications"][0]
    (drawn, *_) = [
        seen for seen in traced(run, Choice(publications=(one,))).slices if seen.track == "sets of composites"
    ]
    assert len(drawn.arriving) == 1
