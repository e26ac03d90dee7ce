"""Measures of routes, on small runs whose results can be computed by hand."""

from __future__ import annotations

import pytest

from tests.analysis.claims.papers.semi_probabilistic.variants import measured, notified, routed, variant

ROUTES = "phi-0", "phi-1", "phi-2", "phi-3", "flooding"


def test_routes_end_where_the_event_has_been() -> None:
    lengths = zip(ROUTES, (8, 6, 3, 2, 1), strict=True)
    variants = [
        variant(f"{size}+{kind}", **routed(length, deterministic=grown * number))
        for number, (kind, length) in enumerate(lengths)
        for grown, size in enumerate(("n-50", "n-400"))
    ]
    shorter, flooding, rise, fall = measured("routes", variants)
    assert shorter == pytest.approx(1 - 3 / 6)
    assert flooding == pytest.approx(1 - 1 / 2)
    assert rise == pytest.approx(2 / 4)
    assert fall == pytest.approx(-1 / 4)


def test_delivery_is_compared_between_sizes() -> None:
    variants = [
        variant(f"{size}+phi-{number}", 0.1 * (number + factor))
        for size, factor in (("n-50", 2), ("n-400", 1))
        for number in range(4)
    ]
    assert measured("delivery by size", variants) == pytest.approx((1.0, 1 / 2, 1 / 3, 1 / 4))


def test_shortest_routes_count_shared_links_once() -> None:
    name = "n-300+flooding"
    notifications = (notified(name, "e", "A", "B"), notified(name, "e", "A", "B", "C"), notified(name, "f", "B", "C"))
    variants = [variant(name, notifications=notifications, published=2), variant("n-300+phi-2", copies=0.3)]
    # Event e needs the links A-B and B-C, and f the link B-C: 1.5 links for each event.
    assert measured("fewer than shortest routes", variants) == pytest.approx((1 - 0.3 / 1.5,))
