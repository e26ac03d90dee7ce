"""The address from which a neighbour's stream has to come."""

from __future__ import annotations

import pytest

from broker_service.grpc_shell.link_ports import _comes_from


@pytest.mark.parametrize(
    ("peer", "remote", "taken"),
    [
        ("10.0.0.2:40000", "10.0.0.2:7000", True),
        ("10.0.0.6:40000", "10.0.0.2:7000", False),
        ("fd00::2:40000", "[fd00::2]:7000", True),
        ("fd00::3:40000", "[fd00::2]:7000", False),
        ("10.0.0.6:40000", "b2:7001", True),
        ("127.0.0.1:40000", "127.9.0.2:7000", True),
        ("a Unix socket", "10.0.0.2:7000", True),
    ],
)
def test_a_stream_comes_from_its_neighbours_end(peer: str, remote: str, taken: bool) -> None:
    assert _comes_from(peer, remote) is taken
