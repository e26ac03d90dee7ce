"""Violations of the delivery guarantee, and sequences with and without faults."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from analysis.claims import ClaimsError, Measurement
from analysis.claims.measured_run import MeasuredRun
from analysis.tables.deliveries import Defect, Expectation
from analysis.tables.timeline import Fault
from analysis.tables.traffic import LabelledMessages
from tests.analysis.claims.papers.gryphon.small_runs import (
    expected,
    kill,
    measured,
    notification,
    run_of,
    subscription,
    variant,
)

ROWS = [
    expected("P:1", "S1", 1.0),
    expected("P:2", "S1", 2.0),
    expected("Q:1", "S1", 2.0),
    expected("P:1", "S2", 1.0, notifications=0),
    expected("P:1", "S3", 1.0, notifications=0, defect=Defect.LOST),
]


def guarantee(directory: Path, retransmitted: int, started: int) -> Measurement:
    """The measurement of a run with 30 retransmissions and two subscriptions while a broker was down."""
    labels = [labelled("retransmission", 20), labelled("retransmission", 10), labelled("nack", 99)]
    tables: dict[type[msgspec.Struct], list[Any]] = {
        Expectation: ROWS,
        LabelledMessages: labels,
        Fault: [kill("ib1", 5, 2)],
    }
    subscribed = [subscription(f"S{number}", at) for number, at in enumerate((4.9, 5.0, 7.0, 7.1))]
    return measured(run_of(directory, [variant("v")], subscribed, tables), "delivery guarantee", retransmitted, started)


def labelled(label: str, sent: int) -> LabelledMessages:
    return LabelledMessages(
        variant="v", broker="ib1", kind="publish", label=label, sent=sent, sent_bytes=0, received=0, received_bytes=0
    )


def test_defects_are_counted_and_pairs_that_started_are_checked(tmp_path: Path) -> None:
    found = guarantee(tmp_path, 30, 2)
    assert (found.values, found.checked) == ((1,), 2)
    assert found.example == "v: P:1 to S3: lost (None)"


@pytest.mark.parametrize(("retransmitted", "started"), [(31, 2), (30, 3)])
def test_a_run_that_tests_too_little_checks_nothing(tmp_path: Path, retransmitted: int, started: int) -> None:
    assert guarantee(tmp_path, retransmitted, started).checked == 0


def sequences(calm: str, faulty: str) -> Measurement:
    """The measurement of one client and one publisher, whose publications are letters."""
    variants = [
        variant(name, notifications=[notification(f"P:{letter}", "S", at) for at, letter in enumerate(order)])
        for name, order in (("calm", calm), ("other", "x"), ("faulty", faulty))
    ]
    return measured(MeasuredRun(Path(), tuple(variants)), "equal sequences", 2)


@pytest.mark.parametrize(("calm", "faulty"), [("abcd", "abcd"), ("abcd", "cd"), ("cd", "abcd")])
def test_equal_sequences_may_begin_earlier_or_later(calm: str, faulty: str) -> None:
    found = sequences(calm, faulty)
    assert (found.values, found.checked) == ((0,), 1)


@pytest.mark.parametrize("faulty", ["abc", "acd", "abdc", ""])
def test_sequences_with_gaps_or_another_order_or_end_differ(faulty: str) -> None:
    found = sequences("abcd", faulty)
    assert (found.values, found.example) == ((1,), "S from P")


def test_a_variant_that_is_not_there() -> None:
    with pytest.raises(ClaimsError, match="1 variants; none has the place 2"):
        measured(MeasuredRun(Path(), (variant("calm"),)), "equal sequences", 2)
