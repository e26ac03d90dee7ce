"""Comparison of sites with what is asked of their clients."""

from __future__ import annotations

import pytest

from emulation.verification.asked import ClientsState
from emulation.verification.comparison import site_differs
from emulation.verification.seen import SiteSeen
from record.faults import FaultKind
from topology.sites import ClientHost

SITE = ClientHost("berlin", "berlin", ("S1", "S2"))


@pytest.mark.parametrize(
    ("connections", "clients", "differs"),
    [(0, 2, False), (1, 2, True), (1, 3, False), (2, 3, True), (0, 1, False), (1, 1, True)],
    ids=["none", "one of its own", "one that came", "one of its own beside", "some left", "some left and one stays"],
)
def test_a_crashed_site_has_the_connections_of_clients_that_came_to_it_alone(
    connections: int, clients: int, differs: bool
) -> None:
    asked = ClientsState(away=FaultKind.CRASH, clients=SITE.clients)
    assert (
        bool(site_differs(asked, SITE, SiteSeen(connections=connections, clients=clients, reachable=True))) is differs
    )
