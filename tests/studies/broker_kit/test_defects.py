"""The kit is held to a broker with defects that can be chosen: a row that is named catches each."""

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
from tests.studies.broker_kit import defective_broker
from tests.studies.broker_kit.defective_broker import DEFECTS

ROOT = Path(__file__).parents[3]
BROKER = defective_broker.__file__
CAUGHT_BY = {
    "waits for the client to speak first": "begins-with-a-welcome",
    "leaves a stale socket": "leaves-the-socket-of-a-broker-that-runs",
    "takes any configuration": "refuses-a-later-contract",
    "refuses unknown fields": "ignores-fields-that-it-does-not-know",
    "ignores SIGTERM": "ends-when-asked",
    "ends with 1 when asked": "ends-when-asked",
    "leaks a child": "leaves-no-process-behind",
    "keeps its incarnation": "states-its-incarnation",
    "carries out refused frames": "refuses-an-unknown-operation",
    "bears long names": "refuses-a-long-id",
    "ignores a half-closed stream": "closes-its-side-when-the-client-does",
    "keeps clients of broken streams": "withdraws-the-clients-of-a-stream-that-breaks",
    "swallows number 0": "carries-out-requests-of-number-0",
    "answers out of order": "answers-in-the-order-of-the-requests",
    "forgets the id in answers": "names-the-request-that-it-answers",
    "takes clients that are not attached": "rejects-requests-of-a-client-that-is-not-attached",
    "lets clients stay": "moves-a-client-to-another-stream",
    "keeps former declarations": "begins-anew-where-a-client-attaches-again",
    "keeps replaced subscriptions": "replaces-a-subscription",
    "keeps withdrawn subscriptions": "notifies-no-more-of-a-withdrawn-subscription",
    "ends streams for bad bodies": "rejects-a-subscription-that-cannot-be-decoded",
    "checks no advertisement": "rejects-a-publication-that-conforms-to-no-advertisement",
    "acknowledges before it rejects": "acknowledges-behind-rejections",
    "never acknowledges": "acknowledges-without-further-ado",
    "notifies for each subscription": "notifies-once-of-each-publication",
    "re-encodes bodies": "hands-over-the-body-as-it-was-published",
    "counts no hops": "counts-the-links-that-a-publication-travelled",
    "recognises copies by id": "tells-publications-of-one-id-apart",
    "routes repeats again": "routes-no-repeat-of-a-stream-that-broke",
    "forgets rejections": "rejects-a-repeat-again",
    "ignores numbers of other sessions": "keeps-the-numbers-of-sessions-apart",
    "loses one publication of a thousand": "loses-none-of-many-publications",
    "compares integers as doubles": "compares-great-integers-exactly",
    "orders strings by UTF-16": "orders-strings-by-code-point",
    "matches across types": "compares-no-number-with-a-string",
    "shows no messages in flight": "holds-no-work-that-it-does-not-show",
    "counts too few deliveries": "counts-what-clients-see",
    "answers OK to what it does not offer": "answers-unimplemented",
    "never flushes its log": "writes-soon",
    "logs with the wall clock": "keeps-the-time-of-the-host",
    "logs a sending when it is over": "logs-the-way-of-a-publication",
    "miscounts what it sends": "gauges-what-it-sends",
    "writes on a torn line": "goes-on-behind-a-torn-line",
    "logs no rejections": "logs-rejections",
    "logs one delivery for all clients": "logs-each-notification",
    "dies of a full disk": "bears-a-log-that-takes-nothing",
    "dies of noise": "bears-a-neighbour-that-sends-noise",
    "does not resume links": "loses-nothing-when-a-link-breaks",
    "does not notice dead neighbours": "sees-that-a-neighbour-has-failed",
    "skips a number": "numbers-notifications-one-by-one",
    "numbers without being asked": "numbers-nothing-without-being-asked",
    "begins numbers anew": "goes-on-numbering-on-the-next-stream",
    "ends streams for acknowledgements": "bears-acknowledgements",
    "takes any acknowledgement": "refuses-the-acknowledgement-of-what-it-has-not-sent",
}

QUICK = ("answers out of order", "matches across types")
"""Defects that every test run looks at, because their rows take no time; all others are proofs."""


def judged(defect: str, *rows: str) -> Sequence[RowResult]:
    """The outcome of rows on the broker with this defect; empty: none."""
    environment = {"PYTHONPATH": str(ROOT), "DEFECT": defect, "GRPC_VERBOSITY": "NONE"}

    async def trial(directory: str) -> Sequence[RowResult]:
        bench = Bench(CommandHost([sys.executable, BROKER], Path(directory), environment), Judged(3))
        try:
            return [result async for result in results(bench, selected(rows), lambda _: None)]
        finally:
            await bench.close()

    with tempfile.TemporaryDirectory(prefix="kit-") as directory:
        return asyncio.run(trial(directory))


def failed(found: Sequence[RowResult]) -> list[str]:
    return [result.row.name for result in found if result.verdict in (RowVerdict.FAILED, RowVerdict.ADVISED)]


def test_a_row_is_named_for_each_defect() -> None:
    assert set(CAUGHT_BY) == set(DEFECTS)


@pytest.mark.parametrize("defect", QUICK)
def test_a_defect_is_caught(defect: str) -> None:
    assert failed(judged(defect, CAUGHT_BY[defect])) == [CAUGHT_BY[defect]]


@pytest.mark.proof
@pytest.mark.parametrize("defect", [each for each in DEFECTS if each not in QUICK])
def test_each_defect_is_caught_by_its_row(defect: str) -> None:
    assert failed(judged(defect, CAUGHT_BY[defect])) == [CAUGHT_BY[defect]]


def test_a_broker_that_dies_fails_one_row_with_one_sentence() -> None:
    found = judged("dies of noise", "bears-a-neighbour-that-sends-noise", "begins-with-a-welcome")
    first, second = sorted(found, key=lambda result: result.row.name)
    assert (first.row.name, first.verdict) == ("bears-a-neighbour-that-sends-noise", RowVerdict.FAILED)
    assert "ended" in first.reason
    assert "\n" not in first.reason
    assert second.verdict is RowVerdict.PASSED


@pytest.mark.proof
def test_the_broker_without_a_defect_passes() -> None:
    found = judged("", "start", "session", "status", "logs", "V-*")
    assert failed(found) == []
    assert len(found) > 130
