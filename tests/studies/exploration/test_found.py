"""Schedules that exploration has found, and whose defects are mended."""

from __future__ import annotations

import pytest

from scenario.loading import load_text
from studies.exploration.judged_run import judging_room

UNITS = """
name: units
topology: {kind: explicit, links: [{between: [B4, B5], delay: 2ms}, {between: [B3, B5], delay: 1ms}]}
routing: {protocol: tid, composites: dcsr, statistics_interval: 0.5, placement_interval: 1.0}
workload:
  operations:
    - {at: 0.4s, client: P3, broker: B3, id: a, advertise: "[class,eq,'A'],[x,>=,0],[x,<=,5]"}
    - {at: 0.5s, client: P2, broker: B4, id: a, advertise: "[class,eq,'A'],[x,>=,3],[x,<=,5]"}
    - {at: 2.8s, client: C, broker: B4, id: c, composite: "{[class,eq,'A'],[x,>=,3]} & {[class,eq,'A'],[x,>=,0]}",
       within: 880ms}
    - {at: 3s, client: P3, broker: B3, publish: "[class,'A'],[x,4]"}
timeline: {join: 3s, run: 9s, drain: 1min, withdraw: 1min}
faults: [{at: run+1800ms, kill: B5, for: 2200ms}]
"""
"""A broker between a subscriber and the join point of its composite subscription is restarted."""


@pytest.mark.parametrize("scenario", [UNITS])
def test_the_verdict_is_correct(scenario: str) -> None:
    with judging_room() as room:
        assert room.judged(load_text(scenario, "found")).kinds == ()
