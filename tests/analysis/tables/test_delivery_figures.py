"""Counts of deliveries are added up and said each under its own name."""

from __future__ import annotations

import msgspec

from analysis.tables.delivery_figures import DeliveryFigures
from analysis.tables.summary import Delivery
from tests.analysis.compare.made_up import neutral

FIGURES = DeliveryFigures(
    published=1560, expected=3513, delivered=3735, excused=4, lost=5, duplicate=6, spurious=7, reordered=8
)


def test_each_count_is_said_under_its_name() -> None:
    assert FIGURES.in_words() == (
        "1,560 published; 3,735 notifications delivered, 3,513 expected; 5 lost, 6 duplicate, 7 spurious, 8 reordered"
    )


def test_what_was_allowed_or_out_of_order_is_said_where_there_is_any() -> None:
    delivery = neutral(Delivery, **msgspec.structs.asdict(FIGURES), optional=222, against_streams=9)
    assert "3,513 expected and 222 optional; 5 lost" in delivery.counts_in_words()
    assert delivery.counts_in_words().endswith("8 reordered, 9 against the order of their streams")
    assert neutral(Delivery, published=3).counts_in_words() == (
        "3 published; 0 notifications delivered, 0 expected; 0 lost, 0 duplicate, 0 spurious"
    )


def test_each_count_is_added_up_by_itself() -> None:
    assert DeliveryFigures.total([FIGURES, FIGURES]) == DeliveryFigures(
        published=3120, expected=7026, delivered=7470, excused=8, lost=10, duplicate=12, spurious=14, reordered=16
    )
