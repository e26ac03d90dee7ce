"""The examples of client programs speak the protocol: each raises an alert for a quote that is high, and leaves."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from broker_service.client_library.client import Session
from broker_service.language import Advertisement, Operator, Predicate, Publication, Subscription
from tests.broker_service.loopback import STOCK, WITHIN, Loopback
from tests.node_packages import node_packages

ROOT = Path(__file__).parents[3]
EXAMPLES = ROOT / "examples" / "clients"
PRESENT = [Predicate("symbol", Operator.PRESENT, ""), Predicate("close", Operator.GREATER, 0)]


async def alerts_of(command: Sequence[str], directory: Path, **environment: str) -> None:
    """Starts a program beside a broker, and fails unless it does what its first lines say."""
    async with Loopback(directory) as overlay, asyncio.timeout(WITHIN):
        await overlay.start("B1")
        address = overlay.address("B1")
        async with Session(address) as session:
            publisher, desk = await session.client("P1"), await session.client("desk")
            await publisher.advertise("quotes", Advertisement((STOCK, *PRESENT)))
            await desk.subscribe("alerts", Subscription((Predicate("class", Operator.STRING_EQUAL, "ALERT"),)))
            settings = {"BROKERLAB_ADDRESS": address, "BROKERLAB_CLIENT": "W1", "LIMIT": "20", **environment}
            program = await asyncio.create_subprocess_exec(*command, env=os.environ | settings)
            alert = asyncio.ensure_future(anext(desk))
            number = 0
            while not alert.done():  # the program subscribes when it has started
                for symbol, close in (("LOW", 12.5), ("HIGH", 25.0)):
                    number += 1
                    quote = Publication({"class": "STOCK", "symbol": symbol, "close": close})
                    publisher.publish(f"q{number}", quote)
                await asyncio.wait((alert,), timeout=0.1)
            assert alert.result().publication.attributes == {"class": "ALERT", "symbol": "HIGH", "from": "W1"}
            program.terminate()
            assert await program.wait() == 0


async def test_the_program_in_python_watches_and_leaves(tmp_path: Path) -> None:
    await alerts_of([sys.executable, str(EXAMPLES / "python" / "watcher.py")], tmp_path, PYTHONPATH=str(ROOT))


@pytest.mark.proof
async def test_the_program_in_node_watches_and_leaves(tmp_path: Path) -> None:
    packages = node_packages(EXAMPLES / "node", "node-client")
    await alerts_of(["node", str(EXAMPLES / "node" / "watcher.js")], tmp_path, NODE_PATH=str(packages))


def test_the_program_in_node_is_short() -> None:
    assert len((EXAMPLES / "node" / "watcher.js").read_text().splitlines()) < 150
