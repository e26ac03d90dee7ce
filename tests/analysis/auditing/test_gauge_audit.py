"""A broker whose gauges do not have what its records of messages have is named, with both numbers, and no other is."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from analysis.engines import PlainEngine
from analysis.pipeline import analyze
from analysis.reading.gauges import Queue
from analysis.reading.sent_gauges import SentGauge, SentReader, SentReadings
from analysis.reading.traffic import Amount
from broker_service.core import gauges
from broker_service.links.overlay_link import OverlayLink
from record.log import Event, TraceRecord
from tests.analysis.auditing.edited import CALM, KILLED, Line, edited, findings, run_of

NAME = "gauges of links that contradict the records of messages"


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run_of(KILLED, tmp_path_factory.mktemp("killed"))


def test_gauges_that_are_right_pass_and_each_incarnation_counts_anew(killed: Path) -> None:
    (variant,) = analyze(killed, PlainEngine()).variants
    (check,) = [check for check in variant.audit if check.name == NAME]
    assert (check.verdict, check.detail) == (
        "VALID",
        "the gauges of 4 link directions have the messages that were recorded",
    )


def test_a_broker_that_counts_wrongly_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: one message in ten is counted twice. B1 alone sends so many, and only to B2."""

    def wrong(link: OverlayLink) -> tuple[int, int]:
        return link.sent + link.sent // 10, link.sent_bytes

    monkeypatch.setattr(gauges, "recorded", wrong)
    found = findings(run_of(CALM, tmp_path))
    assert found.keys() == {NAME}
    assert found[NAME].startswith("a gauge of B1 has ") and " messages to B2, and " in found[NAME]
    assert found[NAME].count("a gauge of ") == 1


def test_bytes_are_compared_as_well(killed: Path, tmp_path: Path) -> None:
    def change(records: list[Line]) -> list[Line]:
        return [{**record, "bytes": record["bytes"] + 1} if "sent" in record else record for record in records]

    found = findings(edited(killed, tmp_path / "copy", {"B3": change}))
    assert found.keys() == {NAME}
    assert found[NAME].startswith("a gauge of B3 has ") and " bytes to B2, and " in found[NAME]


def test_a_gauge_that_falls_within_an_incarnation_is_named(killed: Path, tmp_path: Path) -> None:
    def change(records: list[Line]) -> list[Line]:
        last = [number for number, record in enumerate(records) if "sent" in record][-8]
        records[last]["sent"] -= 1
        return records

    assert findings(edited(killed, tmp_path / "copy", {"B1": change})).keys() == {NAME}


@pytest.mark.parametrize("cuts", [(), (3,), (5, 6), (1, 2, 3, 4, 5, 6, 7, 8)])
def test_pieces_of_a_log_give_the_same_in_any_order(cuts: tuple[int, ...]) -> None:
    """A log with two incarnations, cut anywhere; a line has 100 bytes."""
    log = ["start", "sent", "sent", 2, "sent", "start", "sent", 1, "sent", 3]
    places = [0, *cuts, len(log)]
    whole = SentReadings()
    for first, last in reversed([*pairwise(places)]):
        for row in _read(log[first:last], 100 * first):
            whole.add(row)
    link = Queue(0, "B1", "B2")
    assert list(whole.gauges(0)) == [
        SentGauge(link, messages, 10 * messages, recorded, 10 * recorded)
        for messages, recorded in ((2, 2), (1, 1), (3, 2))
    ]


def _read(records: list[str | int], first: int) -> SentReadings:
    readings, link, amount = SentReadings(), Queue(0, "B1", "B2"), Amount()
    reader = SentReader(readings)
    reader.begin_block("B1.jsonl", first, len(records))
    followed = False
    for place, record in enumerate(records, first):
        if record == "start":
            reader.start(0, "B1", place)
        elif record == "sent":
            if not followed:
                reader.follow(link, "B1.jsonl", amount)
            followed = True
            amount.add(TraceRecord(place, "B1", "base", Event.SENT, peer="B2", bytes=10))
        else:
            gauge = TraceRecord(place, "B1", "base", Event.QUEUE, peer="B2", sent=int(record), bytes=10 * int(record))
            reader.gauge(link, gauge, place)
    reader.end()
    return readings
