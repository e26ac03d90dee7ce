"""Clients that have ended by themselves, with their site, or both."""

from __future__ import annotations

from emulation.drivers.ended_clients import EndedClients
from topology.sites import ClientHost

ALONE, SITE = ClientHost("S1", "berlin", ("S1",)), ClientHost("berlin", "berlin", ("S1", "S2"))


def test_a_client_that_ended_twice_runs_again_when_both_hosts_are_back() -> None:
    ended = EndedClients()
    assert ended.end(ALONE) == ["S1"]
    assert ended.end(SITE) == ["S2"]
    assert ended.come_back(SITE) == ["S2"]
    assert "S1" in ended
    assert "S2" not in ended
    assert ended.come_back(ALONE) == ["S1"]
    assert "S1" not in ended
