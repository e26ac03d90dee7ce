"""Faults of clients while their broker or their access link is out of order: no connection is missed that cannot be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from emulation.simulation.fault_observer import SimulatedObserver
from emulation.verification.seen import SiteSeen
from record.fidelity import FidelityVerdict
from tests.emulation.verification.test_planted_faults import verdict
from topology.sites import ClientHost

DOWN = "kill: B1, for: 8s"
CUT = "link_down: site1-B1, for: 8s"
UNHINDERED = "kill: B2, for: 8s"


def scenario(fault: str) -> str:
    """A site is paused in the midst of another fault, and runs for seconds after that."""
    return f"""
name: planted
topology: {{kind: explicit, links: [{{between: [B1, B2], delay: 5ms}}]}}
routing: {{protocol: cbf}}
clients: {{sites: {{site1: {{broker: B1, delay: 10ms, clients: [S]}}}}}}
workload:
  operations:
    - {{at: 1s, client: S, broker: B1, id: s, subscribe: "[class,eq,'STOCK']"}}
timeline: {{join: 3s, run: 20s, drain: 30s}}
faults: [{{at: run+1s, {fault}}}, {{at: run+3s, pause: site1, for: 2s}}]
seed: 6
"""


def without_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on no client is seen to have a connection."""
    see = SimulatedObserver.sites

    def seen(observer: SimulatedObserver, hosts: Sequence[ClientHost]) -> Mapping[ClientHost, SiteSeen]:
        return {host: replace(found, connections=0) for host, found in see(observer, hosts).items()}

    monkeypatch.setattr(SimulatedObserver, "sites", seen)


@pytest.mark.parametrize("fault", [DOWN, CUT, UNHINDERED])
def test_clients_whose_broker_or_access_link_is_out_of_order_need_no_connection(fault: str, tmp_path: Path) -> None:
    found = verdict(tmp_path, scenario(fault))
    assert found.verdict is FidelityVerdict.VALID, found.detail


@pytest.mark.parametrize(
    ("fault", "named"),
    [(UNHINDERED, "pause of site1 at 6 s: 0 connections are open"), (DOWN, "resume of site1 at 8 s: 0 connections")],
)
def test_clients_that_have_none_though_nothing_hinders_them_are_named(
    fault: str, named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_connections(monkeypatch)
    found = verdict(tmp_path, scenario(fault))
    assert found.verdict is FidelityVerdict.INVALID
    assert named in found.detail
