"""Overlays that the checks of a scenario build."""

from __future__ import annotations

import pytest

from scenario.loading import load_text
from scenario.model import Scenario

SCENARIO = """
name: s
topology: {kind: line, brokers: 3}
routing: {protocol: tid}
workload: {publications: {source: stocks, publishers: 1, rate: 1/s}, subscriptions: {subscribers: 1, selectivity: 20%}}
timeline: {join: 2s, run: 1s, drain: 1s}
"""


@pytest.mark.parametrize(
    ("vary", "built"),
    [
        ("vary: {routing.publications: [fixed, dynamic]}", 1),
        ("vary: {topology.brokers: [3, 4]}", 2),
        ("vary: {seed: [1, 2]}", 2),
        ("vary: {topology.brokers: [3, 4, 5], routing.publications: [fixed, dynamic]}", 3),
    ],
)
def test_variants_of_the_same_overlay_share_it(vary: str, built: int, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    overlay = Scenario.overlay

    def counted(scenario: Scenario) -> object:
        made.append(len(overlay(scenario).brokers))
        return overlay(scenario)

    monkeypatch.setattr(Scenario, "overlay", counted)
    load_text(f"{SCENARIO}{vary}\n", "s.yaml")
    assert len(made) == built
