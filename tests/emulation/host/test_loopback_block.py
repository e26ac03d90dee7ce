from __future__ import annotations

import errno
import socket
from contextlib import ExitStack, closing
from unittest.mock import MagicMock

import pytest

from emulation.host.loopback_block import LoopbackBlock
from record.errors import HostError


def test_blocks_that_are_held_at_the_same_time_differ() -> None:
    with ExitStack() as held:
        blocks = [held.enter_context(closing(LoopbackBlock())) for _ in range(5)]
        assert len({block.number for block in blocks}) == 5


def test_a_block_is_free_again_once_it_is_closed() -> None:
    with closing(LoopbackBlock()) as first:
        claimed = first.address(255, 254)
    with socket.socket() as now:
        now.bind((claimed, 7000))


def test_its_addresses_are_on_loopback_and_none_is_the_one_that_claims_it() -> None:
    with closing(LoopbackBlock()) as block, socket.socket() as broker:
        broker.bind((block.address(0, 1), 7000))
        assert block.address(0, 1) == f"127.{block.number}.0.1"


def test_where_no_block_is_free_the_port_is_named_that_somebody_listens_on() -> None:
    """A program that listens on all addresses, as one of the system's own may, takes the port of every block."""
    listener = MagicMock()
    listener.bind.side_effect = OSError(errno.EADDRINUSE, "Address already in use")
    with pytest.raises(HostError, match=r"port 7000 is in use .* `ss .*'sport = :7000'` shows it"):
        LoopbackBlock(lambda: listener)
    assert listener.bind.call_count == listener.close.call_count == 254
