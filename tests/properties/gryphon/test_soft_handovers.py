"""Soft handovers over links that carry few messages: the old broker's stream ends with its session, and has no gap."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from broker_service.routing.gryphon import GryphonRouter
from broker_service.routing.gryphon.streams.publications import Held
from broker_service.routing.interface import Action
from tests.properties.gryphon.gryphon_checks import findings

_BEFORE = "    - {at: 6.5s, client: P, broker: D, publish: \"[class,'A'],[x,5]\"}\n"
SCENARIO = f"""
name: contract
topology:
  {{kind: redundant-tree, tree: star, nodes: 4, replicas: 2, link: {{delay: 116646us..377.41ms}}}}
routing: {{protocol: gryphon, paths: message}}
clients: {{sites: {{site: {{broker: B, delay: 683us, clients: [S]}}}}}}
workload:
  operations:
    - {{at: 0.4s, client: P, broker: D, id: a, advertise: "[class,eq,'A'],[x,>=,4],[x,<=,5]"}}
    - {{at: 2.2s, client: S, broker: B, id: s, subscribe: "[class,eq,'A'],[x,>=,3],[x,<=,5]"}}
    - {{at: 5.8s, client: P, broker: D, publish: "[class,'A'],[x,4]"}}
{4 * _BEFORE}    - {{at: 6.6s, client: P, broker: D, publish: "[class,'A'],[x,5]"}}
brokers: {{limits: {{window: 3}}}}
timeline: {{join: 3s, run: 9s, drain: 60s}}
faults: [{{at: join+6.5s, move: site, to: D, handover: make before break}}]
seed: 2046722267
"""
_SECOND = 2
"""Position of a publication that S gets from B after the first, and before the third."""


class NeverNotifiesOfTheSecond(GryphonRouter):
    """Leaves out one position of a stream."""

    def __init__(self, context: Any) -> None:
        super().__init__(context)
        rightly = self._clients.notify

        def notify(stream: int, held: Held) -> list[Action]:
            return [] if held.position == _SECOND else rightly(stream, held)

        self._clients.notify = notify  # type: ignore[method-assign]


def test_what_the_new_broker_sends_shows_no_gap_of_the_old_one(tmp_path: Path) -> None:
    assert "lost" not in findings(SCENARIO, tmp_path)


def test_a_gap_of_the_old_broker_is_named(tmp_path: Path) -> None:
    assert "lost" in findings(SCENARIO, tmp_path, NeverNotifiesOfTheSecond)
