"""Measures of overlays whose links are replaced, on small runs whose results can be computed by hand."""

from __future__ import annotations

import math

import pytest

from analysis.claims.papers.semi_probabilistic.variants import EVENTS
from tests.analysis.claims.papers.semi_probabilistic.variants import measured, over_time, variant


def test_delivery_is_compared_with_the_static_overlay() -> None:
    points = {"static": (0.1, 0.2, 0.4, 0.5), "slow": (0.2, 0.4, 0.5, 0.6), "fast": (0.3, 0.5, 0.5, 0.4)}
    variants = [
        variant(f"{point}+phi-{number}", ratio)
        for point, ratios in points.items()
        for number, ratio in enumerate(ratios)
    ]
    assert measured("reconfigured", variants) == pytest.approx((0.25, -0.2, 2.0, 1.5))
    assert measured("slowly reconfigured", variants) == pytest.approx((0.2, 0.4 / 0.6 - 1))


def test_nearer_subscribers_first_against_any() -> None:
    points = {"nearest+phi-3": 0.6, "nearest+phi-4": 0.5, "none+phi-3": 0.5, "none+phi-4": 0.8}
    found = measured("nearest first", [variant(name, ratio) for name, ratio in points.items()])
    assert found == pytest.approx((0.2, -0.375))


def test_one_and_two_limits_of_hops() -> None:
    points = {
        "fast": [(0.6, 100), (0.9, 100), (0.8, 100), (0.8, 100)],
        "ttl-14": [(0.4, 50), (0.9, 60), (0.6, 80), (0.4, 90)],
        "ttls-10-8": [(0.2, 40), (0.9, 45), (0.9, 70), (0.2, 95)],
    }
    variants = [
        variant(f"{point}+phi-{number}", *found)
        for point, pairs in points.items()
        for number, found in enumerate(pairs)
    ]
    one = measured("one limit of hops", variants)
    assert one == pytest.approx((1.0, 0.75, 0.5, -0.2, 0.5, 0.6, 0.8, 0.9))
    assert measured("two limits of hops", variants) == pytest.approx((-0.25,))
    assert measured("delivery of two limits", variants) == pytest.approx((0.0, 0.5, -0.5))
    sent = measured("messages of two limits", variants)
    assert sent == pytest.approx(tuple(copies * EVENTS for copies in (60, 45, 70, 95)))


def test_the_least_limit_is_near_enough_to_none() -> None:
    limits = {8: 0.5, 11: 0.78, 14: 0.79, 17: 0.8}
    variants = [variant(f"ttl-{ttl}", ratio, settings={"routing.ttl": ttl}) for ttl, ratio in limits.items()]
    for without, least in ((0.8, 14), (0.9, math.inf), (None, None)):
        found = measured("least limit of hops", [*variants, variant("unlimited", without)], arguments=(0.015,))
        assert found == (least,)


def test_steadiness_counts_whole_seconds_of_the_run() -> None:
    ratios = {-1: 0.0, 0: 0.6, 3: 0.8, 4: 0.0}
    variants = [
        variant(f"{point}+phi-{number}", delivery_over_time=over_time(ratios))
        for point in ("ttls-10-8", "later")
        for number in range(4)
    ]
    assert measured("steadiness", variants) == pytest.approx((0.1, 0.1))


def test_copies_grow_with_an_exponent() -> None:
    growth = {"tau-0.5+phi-0": 1.0, "tau-0.5+phi-1": 1.05, "tau-0.5+phi-3": 0.5, "tau-0.25+phi-0": 1.0}
    growth |= {"tau-0.25+phi-1": 0.95, "tau-0.25+phi-3": 0.4}
    delivery = {"tau-0.5": 0.96, "tau-0.25": 0.6}
    variants = [
        variant(
            f"n-{size}+{point}",
            delivery[point.split("+")[0]] * (0.5 if point == "tau-0.25+phi-0" else 1),
            copies=1000 * (size / 50) ** exponent,
        )
        for point, exponent in growth.items()
        for size in (50, 100, 200, 400)
    ]
    full, linear, saved, one, three, higher = measured("density of receivers", variants)
    assert full == pytest.approx(0.96 / 0.95 - 1)
    assert linear == pytest.approx(0.05, abs=1e-3)
    assert saved == pytest.approx(0)
    assert one == pytest.approx(-0.05, abs=1e-3)
    assert three == pytest.approx(0.5, abs=1e-3)
    assert higher == pytest.approx(1.0)
