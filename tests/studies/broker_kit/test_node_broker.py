"""The broker in Node keeps the contract. Its packages are installed once, below `.cache`."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from studies.broker_kit.bench import FOREIGN, Bench, Judged
from studies.broker_kit.programs import CommandHost
from studies.broker_kit.rows import RowResult, RowVerdict, Suite
from studies.broker_kit.trial import results, selected
from tests.node_packages import node_packages

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "examples" / "brokers" / "node"
WIRE = "cbf"
CASES = ("a-ring-loses-each-broker-in-turn", "advertised-and-subscribed-during-a-partition")
"""Cases in which its ways have to change; all others take minutes."""


@pytest.fixture(scope="module")
def packages() -> Path:
    """The folder with the packages that the broker needs."""
    return node_packages(EXAMPLE, "node-broker")


@pytest.mark.proof
@pytest.mark.parametrize(
    ("protocol", "rows"),
    [(FOREIGN, ("start", "S-*", "A-?")), (FOREIGN, ("status", "logs", "V-[2-5]", *CASES)), (WIRE, ("wire",))],
)
def test_the_broker_in_node_keeps_the_contract(protocol: str, rows: Sequence[str], packages: Path) -> None:
    async def trial(directory: str) -> Sequence[RowResult]:
        host = CommandHost(["node", str(EXAMPLE / "broker.js")], Path(directory), {"NODE_PATH": str(packages)})
        bench = Bench(host, Judged(3, protocol))
        chosen = [row for row in selected(rows) if row.suite is not Suite.BEHAVIOUR or row.name in CASES]
        try:
            return [result async for result in results(bench, chosen, lambda _: None)]
        finally:
            await bench.close()

    with tempfile.TemporaryDirectory(prefix="kit-") as directory:
        found = asyncio.run(trial(directory))
    assert [result.reason for result in found if result.verdict is RowVerdict.FAILED] == []
