"""Clients on sites crash, vanish and are cut off under every protocol, and that costs what evidence excuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis.engines import PlainEngine
from analysis.pipeline import analyze
from emulation.planning.plan import make_plan
from emulation.simulation.run import simulate
from scenario.loading import load_text

pytestmark = pytest.mark.proof

SCENARIO = """
name: sites
topology: TOPOLOGY
routing: ROUTING
workload:
  publications: {source: stocks, publishers: 2, rate: 8/s, placement: [A, D]}
  subscriptions: {subscribers: 6, selectivity: 50%, placement: [C, D]}
clients:
  sites:
    market: {broker: A, clients: P1, delay: 15ms}
    berlin: {broker: C, clients: [S1, S2], delay: 5ms, to_clients: {delay: 25ms}}
    oslo: {broker: D, clients: [S4], delay: 5ms}
timeline: {join: 3s, run: 40s, drain: 8s}
faults:
  - {at: 5s, crash: S1, for: 3s}
  - {at: 10s, vanish: oslo, for: 6s}
  - {at: 17s, crash: market, for: 2s}
  - {at: 22s, link_down: [berlin-C, market->A], for: 12s}
  - {at: 38s, kill: C, for: 2s}
seed: 4
"""
LINE, MESH = "{kind: line, brokers: 4, link: {delay: 4ms}}", "{kind: full, brokers: 4, link: {delay: 4ms}}"
SCOT = "{kind: scot, acyclic: [[a, b]], clusters: 2, link: {delay: 4ms}}"


@pytest.mark.parametrize(
    ("topology", "routing"),
    [
        (LINE, "{protocol: tid, publications: fixed}"),
        (LINE, "{protocol: tid, publications: dynamic}"),
        (LINE, "{protocol: cbf}"),
        (LINE, "{protocol: semi-probabilistic}"),
        (LINE, "{protocol: gryphon}"),
        (MESH, "{protocol: medym}"),
        (MESH, "{protocol: channelization}"),
        (SCOT, "{protocol: octopia}"),
    ],
)
def test_faults_of_clients(topology: str, routing: str, tmp_path: Path) -> None:
    text = SCENARIO.replace("TOPOLOGY", topology).replace("ROUTING", routing)
    brokers = ("a0", "a1", "b0", "b1") if topology == SCOT else ("B1", "B2", "B3", "B4")
    for place, broker in zip("ACD", (brokers[0], *brokers[2:]), strict=True):
        for written in (
            f"broker: {place},",
            f"[{place},",
            f", {place}]",
            f"-{place},",
            f">{place}]",
            f"kill: {place},",
        ):
            text = text.replace(written, written.replace(place, broker))
    outcome = simulate(make_plan(load_text(text, "sites.yaml")), tmp_path)
    (fidelity,), (variant,) = outcome.fidelity.variants, analyze(outcome.directory, PlainEngine()).variants
    assert variant.delivery.verdicts == ["correct"]
    assert not [check.detail for check in (*variant.audit, *fidelity.checks) if check.verdict == "INVALID"]
