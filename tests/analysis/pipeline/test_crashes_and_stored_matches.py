"""Crashes between two publications of a set, judged from the logs of a simulated run: what they excuse, and that they
excuse nothing else.

A line of five brokers: the subscriber at B1, one publisher at B3, the other at B4. So the unit is split at B3.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from analysis.engines import PlainEngine
from analysis.pipeline import analyze
from analysis.tables.detections import DetectionFigures
from analysis.tables.placements import Placement
from analysis.tables.results import read_table
from analysis.tables.summary import Delivery
from broker_service.routing import registry
from broker_service.routing.interface import Action, Actions, Cease, Detect, Router, RouterContext
from emulation.planning.plan import make_plan
from emulation.simulation.run import simulate
from scenario.loading import load
from tests.broker_service.wrapped import WrappedRouter

SCENARIO = """
name: crashes
topology: {{kind: line, brokers: 5, link: {{delay: 3ms, bandwidth: 10mbit}}}}
routing: {{protocol: {protocol}, publications: fixed, composites: {composites}}}
workload:
  operations:
    - {{at: 0.1s, client: P, broker: B3, id: a1, advertise: "[class,eq,'A'],[x,>,0]"}}
    - {{at: 0.1s, client: Q, broker: B4, id: a1, advertise: "[class,eq,'B'],[x,>,0]"}}
    - {{at: 2s, client: S, broker: B1, id: c1, composite: "{{[class,eq,'A']}} & {{[class,eq,'B']}}", within: 30s}}
    - {{at: 6s, client: P, broker: B3, publish: "[class,'A'],[x,1]"}}
    - {{at: 32s, client: Q, broker: B4, publish: "[class,'B'],[x,1]"}}
timeline: {{join: 5s, run: 30s, drain: 3s}}
faults: [{{at: run+6s, kill: {broker}, for: 1s}}]
"""


class ForgetsWhenANeighbourFails(WrappedRouter):
    """A router that detects its units anew, without the matches that it has stored, when a link breaks."""

    def __init__(self, router: Router) -> None:
        super().__init__(router)
        self._detected: dict[str, Detect] = {}

    def __getattr__(self, name: str) -> Callable[..., Actions]:
        method = getattr(self._router, name)

        def called(*arguments: Any, **named: Any) -> Any:
            result = method(*arguments, **named)
            if isinstance(result, list):
                self._detected |= {action.unit.id: action for action in result if isinstance(action, Detect)}
            return result

        return called if callable(method) else method

    def link_down(self, neighbour: str) -> Actions:
        anew: list[Action] = []
        for id, detect in self._detected.items():
            anew += [Cease(id), detect]
        return [*self._router.link_down(neighbour), *anew]


def judged(directory: Path, broker: str, composites: str, protocol: str = "tid") -> Delivery:
    file = directory / "s.yaml"
    file.write_text(SCENARIO.format(broker=broker, composites=composites, protocol=protocol))
    run = simulate(make_plan(load(file)), directory).directory
    delivery = analyze(run, PlainEngine()).variants[0].delivery
    if composites != "simple":
        first = min(read_table(run / "results", Placement), key=lambda row: row.joined_ns)
        assert (first.broker, first.path) == ("B3", ["B1", "B2", "B3"])
    return delivery


def counts(delivery: Delivery) -> tuple[int, int, int]:
    """Detections expected, lost and excused."""
    found = delivery.detections
    assert isinstance(found, DetectionFigures)
    return found.expected, found.lost, sum(found.excused.values())


@pytest.mark.parametrize(
    ("composites", "broker", "expected"),
    [
        ("topology", "B2", (1, 0, 1)),
        ("topology", "B4", (1, 0, 0)),
        ("topology", "B5", (1, 0, 0)),
        ("simple", "B2", (1, 0, 0)),
        ("simple", "B1", (1, 0, 1)),
    ],
)
def test_only_brokers_that_hold_a_set_together_excuse_its_loss(
    tmp_path: Path, composites: str, broker: str, expected: tuple[int, int, int]
) -> None:
    delivery = judged(tmp_path, broker, composites)
    assert delivery.verdicts == ["correct"]
    assert counts(delivery) == expected


def test_a_join_point_that_forgets_when_another_broker_crashes_loses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = registry.PROTOCOLS["tid"]

    def router(context: RouterContext[Any]) -> Router:
        return ForgetsWhenANeighbourFails(good.router(context))  # type: ignore[return-value]

    monkeypatch.setitem(registry.PROTOCOLS, "broken", replace(good, router=router))  # type: ignore[arg-type]
    delivery = judged(tmp_path, "B4", "topology", "broken")
    assert delivery.verdicts == ["detection lost"]
    assert counts(delivery) == (1, 1, 0)
