"""The rows of the wire are held to a broker with defects on it that can be chosen: a row that is named catches each."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from studies.broker_kit.bench import Bench, Judged
from studies.broker_kit.programs import CommandHost
from studies.broker_kit.rows import RowResult, RowVerdict
from studies.broker_kit.trial import results, selected
from tests.studies.broker_kit import defective_wire

ROOT = Path(__file__).parents[3]
CAUGHT_BY = {
    "states another incarnation": "says-who-it-is",
    "greets another protocol": "refuses-a-hello-of-another-protocol",
    "greets strangers": "refuses-a-hello-of-a-stranger",
    "greets another appearance": "refuses-a-hello-of-another-appearance",
    "greets former incarnations": "refuses-a-hello-of-a-former-incarnation",
    "forgets what was in flight": "sends-again-what-was-not-handled",
    "repeats what was handled": "sends-again-what-was-not-handled",
    "ignores the window": "keeps-the-window",
    "acknowledges with beats only": "acknowledges-without-a-beat",
    "never beats": "beats",
    "bears silence": "gives-a-silent-neighbour-up",
    "sends publications back": "routes-among-native-brokers",
}


def _judged(defect: str, *rows: str, protocol: str = "cbf") -> Sequence[RowResult]:
    environment = {"PYTHONPATH": str(ROOT), "WIRE_DEFECT": defect}

    async def trial(directory: str) -> Sequence[RowResult]:
        host = CommandHost([sys.executable, defective_wire.__file__], Path(directory), environment)
        bench = Bench(host, Judged(3, protocol))
        try:
            return [result async for result in results(bench, selected(rows), lambda _: None)]
        finally:
            await bench.close()

    with tempfile.TemporaryDirectory(prefix="kit-") as directory:
        return asyncio.run(trial(directory))


def test_a_broker_without_the_wire_is_not_held_to_it() -> None:
    (found,) = _judged("", "says-who-it-is", protocol="foreign")
    assert found.verdict is RowVerdict.NOT_APPLICABLE


def test_what_was_not_handled_travels_again_though_the_neighbour_says_nothing() -> None:
    (found,) = _judged("", "sends-again-what-was-not-handled")
    assert found.verdict is RowVerdict.PASSED, found.reason


@pytest.mark.proof
@pytest.mark.parametrize("defect", CAUGHT_BY)
def test_each_defect_is_caught_by_its_row(defect: str) -> None:
    (found,) = _judged(defect, CAUGHT_BY[defect])
    assert found.verdict is RowVerdict.FAILED, defect


@pytest.mark.proof
def test_brokerlabs_own_broker_keeps_the_wire() -> None:
    found = _judged("", "wire")
    assert [result.reason for result in found if result.verdict is not RowVerdict.PASSED] == []
    assert {result.row.statement for result in found} == {f"W-{number}" for number in range(1, 7)}
