"""Measures of overlays whose links are replaced (section 4, "Dynamic Network" to "Density of Receivers", figures 7-10).

Points of a scenario: `static`, `slow` (a link every 0.3 s), `fast` (every 0.03 s); fast with one TTL (`ttl-14`), with
two (`ttls-10-8`), and with two after 20 s of reconfiguration (`later`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from analysis.claims.measured_run import MeasuredRun, MeasuredVariant
from analysis.claims.model import ClaimsError, Recipe
from analysis.claims.papers.semi_probabilistic.variants import (
    by_horizon,
    copies,
    difference,
    excess,
    least,
    messages,
    named,
    quotient,
)
from analysis.claims.verdict import Measurement

STEADY = 0.3
"""The range of delivery over time that counts as steady: half of that on trees, from 100% down to 40%."""
_SIZES = (50, 100, 200, 400)
_UNLIMITED = "unlimited"


def reconfigured(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """Margins of figure 7: fast reconfiguration does not reduce the delivery of the horizons 2 and 3; it improves that
    of 0 and 1."""
    pairs = zip(by_horizon(run, "fast"), by_horizon(run, "static"), strict=True)
    zero, one, two, three = (excess(fast.delivery_ratio, static.delivery_ratio) for fast, static in pairs)
    return Measurement(values=(two, three, zero, one))


def slowly_reconfigured(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """Margins of the text on figure 7: delivery under slow reconfiguration lies above that of the static overlay, and
    below that under fast reconfiguration; the least over the horizons."""
    points = [[variant.delivery_ratio for variant in by_horizon(run, point)] for point in ("static", "slow", "fast")]
    static, slow, fast = points
    return Measurement(values=(least([*map(excess, slow, static)]), least([*map(excess, fast, slow)])))


def nearest_first(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """Margins of section 3: links to nearer subscribers first deliver more than any links, with horizons 3 and 4."""
    pairs = ((named(run, "nearest", horizon), named(run, "none", horizon)) for horizon in ("phi-3", "phi-4"))
    return Measurement(values=tuple(excess(near.delivery_ratio, far.delivery_ratio) for near, far in pairs))


def one_limit(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """Figure 8, a TTL of 14 against none: delivery of the horizons 1, 2 and 3, relative, and of 0, in points; messages
    of the horizons 0 to 3, relative."""
    limited, unlimited = by_horizon(run, "ttl-14"), by_horizon(run, "fast")
    pairs = [(one.delivery_ratio, other.delivery_ratio) for one, other in zip(limited, unlimited, strict=True)]
    return Measurement(
        values=(
            *(quotient(*pair) for pair in pairs[1:]),
            difference(*pairs[0]),
            *(quotient(messages(one), messages(other)) for one, other in zip(limited, unlimited, strict=True)),
        )
    )


def least_limit(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """Text on figure 8: the least TTL whose delivery is at most `arguments[0]` below that without one.

    Without such a TTL, infinity, which counts as no number.
    """
    unlimited = named(run, _UNLIMITED).delivery_ratio
    if unlimited is None:
        return Measurement(values=(None,))
    enough = (
        float(variant.settings["routing.ttl"])
        for variant in run.variants
        if variant.name != _UNLIMITED and (variant.delivery_ratio or 0) >= unlimited - recipe.arguments[0]
    )
    return Measurement(values=(min(enough, default=math.inf),))


def two_limits(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """Figure 9: messages of horizon 1 with two TTLs against one, minus 1."""
    return Measurement(values=(excess(messages(_two(run)[1]), messages(_one(run)[1])),))


def delivery_of_two_limits(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """Margins of the text on figure 9: two TTLs deliver more than one, with the horizons 1, 2 and 3."""
    pairs = zip(_two(run)[1:], _one(run)[1:], strict=True)
    return Measurement(values=tuple(excess(two.delivery_ratio, one.delivery_ratio) for two, one in pairs))


def messages_of_two_limits(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """Text on figure 9: messages of horizon 1 with one TTL, then of the horizons 1, 2 and 3 with two."""
    return Measurement(values=(messages(_one(run)[1]), *(messages(variant) for variant in _two(run)[1:])))


def steadiness(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """Margins of the text on figure 9: with horizons above 0, the delivery of the best and the worst second differ by
    less than `STEADY`; from an overlay of equal degrees on, and after 20 s of reconfiguration."""
    points = (by_horizon(run, point)[1:] for point in ("ttls-10-8", "later"))
    return Measurement(values=tuple(least([_steadiness(variant) for variant in variants]) for variants in points))


def density(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """Margins of figure 10: statements on 50 to 400 brokers, the least of all horizons and sizes:

    1. at a threshold of 0.5, delivery is above 95%;
    2. copies at 0.5 grow linearly: with an exponent between 0.9 and 1.1 (the distance to the nearer of these);
    3. at 0.5, horizon 3 takes fewer copies than 0 and 1;
    4. and 5. copies at 0.25 grow with an exponent below 0.9, for the horizons 1 and 3;
    6. at 0.25, the horizons 1 and 3 deliver more than 0.
    """
    half = {horizon: _sizes(run, "tau-0.5", horizon) for horizon in ("phi-0", "phi-1", "phi-3")}
    quarter = {horizon: _sizes(run, "tau-0.25", horizon) for horizon in half}
    above = [excess(variant.delivery_ratio, 0.95) for variants in half.values() for variant in variants]
    saved = [
        difference(1.0, quotient(copies(three), copies(other)))
        for horizon in ("phi-0", "phi-1")
        for three, other in zip(half["phi-3"], half[horizon], strict=True)
    ]
    higher = [
        excess(variant.delivery_ratio, zero.delivery_ratio)
        for horizon in ("phi-1", "phi-3")
        for variant, zero in zip(quarter[horizon], quarter["phi-0"], strict=True)
    ]
    return Measurement(
        values=(
            least(above),
            0.1 - max(abs(_exponent(half[horizon]) - 1) for horizon in ("phi-0", "phi-1")),
            least(saved),
            0.9 - _exponent(quarter["phi-1"]),
            0.9 - _exponent(quarter["phi-3"]),
            least(higher),
        )
    )


def _one(run: MeasuredRun) -> Sequence[MeasuredVariant]:
    return by_horizon(run, "ttl-14")


def _two(run: MeasuredRun) -> Sequence[MeasuredVariant]:
    return by_horizon(run, "ttls-10-8")


def _steadiness(variant: MeasuredVariant) -> float | None:
    whole = [row.ratio for row in variant.delivery_over_time if 0 <= row.second < math.floor(variant.run_seconds)]
    return STEADY - (max(whole) - min(whole)) if whole else None


def _sizes(run: MeasuredRun, *point: str) -> Sequence[MeasuredVariant]:
    return [named(run, f"n-{size}", *point) for size in _SIZES]


def _exponent(variants: Sequence[MeasuredVariant]) -> float:
    """The exponent by which copies grow from the smallest to the largest overlay."""
    small, large = copies(variants[0]), copies(variants[-1])
    if not small or not large:
        raise ClaimsError(f"no copies of events in {variants[0].name} or {variants[-1].name}")
    return math.log(large / small) / math.log(_SIZES[-1] / _SIZES[0])
