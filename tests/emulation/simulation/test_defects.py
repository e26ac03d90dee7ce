"""A defect of a router ends a simulated run at once, and is its verdict."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from analysis.engines import PlainEngine
from analysis.pipeline import analyze
from analysis.tables.summary import BROKER_DEFECT, Summary
from emulation.planning.plan import make_plan
from emulation.simulation.run import simulate
from scenario.loading import load_text
from tests.broker_service.defective import DEFECTIVE, registered

SCENARIO = """
name: defect
topology: {{kind: line, brokers: 3}}
routing: {{protocol: {protocol}, fails_in: {fails_in}}}
workload:
  operations:
    - {{at: 0s, client: P, broker: B1, id: a, advertise: "[class,eq,'STOCK']"}}
    - {{at: 200ms, client: S, broker: B3, id: s, subscribe: "[class,eq,'STOCK']"}}
    - {{at: 3s, client: P, broker: B1, id: p1, publish: "[class,'STOCK']"}}
    - {{at: 4s, client: P, broker: B1, id: p2, publish: "[class,'STOCK']"}}
    - {{at: 6500ms, client: S, broker: B3, unsubscribe: s}}
timeline: {{join: 2s, run: 5s, drain: 1s}}
"""


@pytest.fixture(autouse=True)
def _registered() -> Iterator[None]:
    with registered():
        yield


def summary(fails_in: str, out: Path) -> tuple[str, Summary]:
    text = SCENARIO.format(protocol=DEFECTIVE, fails_in=fails_in)
    outcome = simulate(make_plan(load_text(text, "defect.yaml")), out)
    return outcome.defect, analyze(outcome.directory, PlainEngine())


def test_a_defect_is_the_verdict_and_nothing_is_called_lost(tmp_path: Path) -> None:
    defect, found = summary("unsubscribe", tmp_path)
    sentence = (
        f"broker defect: B3 (protocol {DEFECTIVE}) failed on unsubscribe 's' of client 'S': "
        "ValueError: too many values to unpack (expected 2)"
    )
    assert defect == sentence
    assert found.delivery == found.variants[0].delivery.verdicts == [BROKER_DEFECT]
    delivery = found.variants[0].delivery
    assert (delivery.delivered, delivery.lost, delivery.rejected) == (2, 0, 0)
    (example,) = delivery.examples
    assert example.detail.startswith(f"{sentence}\nTraceback")
    assert "    a, b = (1, 2, 3)" in example.detail
    assert not found.interrupted


def test_a_defect_before_the_first_publication_is_a_verdict_too(tmp_path: Path) -> None:
    defect, found = summary("receive", tmp_path)
    assert "B2" in defect
    assert found.delivery == [BROKER_DEFECT]


def test_without_a_defect_nothing_is_said_of_one(tmp_path: Path) -> None:
    defect, found = summary("nothing", tmp_path)
    assert defect == ""
    assert found.correct
