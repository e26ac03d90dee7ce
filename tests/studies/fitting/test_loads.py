"""The load of the busiest link, against loads counted by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from scenario.loading import load
from scenario.sections.workload.quotes import QuotePublications
from studies.fitting import loads
from studies.fitting.loads import Load, busiest, remaining, use_of_busiest
from studies.reproduction.plan import SCENARIOS

LINE = """
name: line
topology:
  kind: line
  brokers: 3
  link: {delay: 1ms, send_time: {mean: 20ms, distribution: constant}}
routing: {protocol: tid, publications: fixed}
workload:
  publications:
    source: stocks
    publishers: 3
    rate: 10/s
    placement: [B1]
    individually: {P2: {joins: 2s}, P3: {joins: 1s, leaves: 2s}}
  subscriptions: {subscribers: 3, selectivity: 100%, followers: [%s]}
timeline: {join: 2s, run: 4s, drain: 5s}
vary: {routing.publications: [fixed, dynamic]}
"""
FOLLOWERS = ", ".join(f"{{of: P{number}, subscribers: 1, placement: [B2]}}" for number in (1, 2, 3))


def test_directions_of_a_link_count_apart_and_publishers_by_the_time_that_they_have() -> None:
    sent = {("B1", "B2", "P1"): 40, ("B1", "B2", "P2"): 20, ("B2", "B1", "P1"): 50, ("B2", "B1", "P3"): 900}
    assert busiest(sent, {"P1": 10.0, "P2": 2.0}) == pytest.approx(4 + 10)
    assert busiest(sent, {"P1": 10.0}) == pytest.approx(5)
    assert busiest({}, {"P1": 10.0}) == 0


def test_publishers_that_leave_do_not_count() -> None:
    scenario = load(SCENARIOS / "tid" / "tid-5e.yaml")
    assert isinstance(scenario.workload.publications, QuotePublications)
    seconds = remaining(scenario, scenario.workload.publications)
    assert seconds == dict.fromkeys((f"P{number}" for number in range(1, 21)), scenario.timeline.run)


def test_the_load_of_a_line_is_that_of_its_publishers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Two publishers that stay make 20 messages a second for B2, each of which takes 20 ms; B3 gets none."""
    (tmp_path / "tid").mkdir()
    (tmp_path / "tid" / "line.yaml").write_text(LINE.replace("%s", FOLLOWERS))
    monkeypatch.setattr(loads, "SCENARIOS", tmp_path)
    assert use_of_busiest("line", 1) == pytest.approx(20 * 0.02, rel=0.1)


def test_the_factor_brings_the_mean_to_the_rule() -> None:
    load_of_two = Load("tid-5a", (0.3, 0.5))
    assert load_of_two.factor == pytest.approx(0.837 / 0.4)
    assert str(load_of_two) == "tid-5a    0.400  x 2.092  (0.30, 0.50)"
