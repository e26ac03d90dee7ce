"""Load of brokers under subscription propagation and under flooding (Gryphon, section 5.2, figures 4 and 6).

The load of a broker is the mean over the seconds of the run of its table `load`: the share of a second for which its
modelled service is occupied, or its processor time on other runtimes. Names of brokers tell their parts: `sb...` are
those of subscribers, and `B1` to `B4` of figure 4 are those of publishers, `B5` that of subscribers.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from math import inf
from statistics import correlation, fmean, linear_regression

from analysis.claims.measured_run import MeasuredRun, MeasuredVariant
from analysis.claims.model import ClaimsError, Recipe
from analysis.claims.verdict import Measurement
from broker_service.messages import Kind
from topology.link_properties import BrokerId

_FILTERING = "routing.filtering"
_PUBLISHERS = "workload.publications.topics"
_VECTORS, _FLOODING = "vectors", "flooding"
_OF_PUBLISHERS = ("B1", "B2", "B3", "B4")
_OF_SUBSCRIBERS = ("B5",)
_CONSTANT = 0.05
"""Largest relative difference of two loads that count as equal."""
_LINEAR = 0.99
"""Smallest coefficient of determination of a straight line."""

Loads = Mapping[int, float]
"""Load by number of publishers, or of leaves."""


def mean_load(variant: MeasuredVariant, brokers: Collection[BrokerId], begin: float = 0.0, end: float = inf) -> float:
    """Mean load of brokers in an interval, in seconds of the run. Raises `ClaimsError` where they did not run."""
    found = [row.processor for row in variant.loads if row.broker in brokers and begin <= row.second < end]
    if not found:
        raise ClaimsError(f"{variant.name}: no load of {', '.join(brokers)}")
    return fmean(found)


def publisher_brokers(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """Figure 4(b): mean load of publisher brokers, flooding with the first argument's number of publishers, propagation
    with the second's."""
    flooding, vectors = (round(number) for number in recipe.arguments)
    return Measurement(
        values=(
            _by_publishers(run, _FLOODING, _OF_PUBLISHERS)[flooding],
            _by_publishers(run, _VECTORS, _OF_PUBLISHERS)[vectors],
        )
    )


def subscriber_broker(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """Margins of the text on figure 4(b): the subscriber broker's load is constant under propagation, linear in the
    number of publishers under flooding, and the same for the fewest publishers."""
    vectors, flooding = (_by_publishers(run, filtering, _OF_SUBSCRIBERS) for filtering in (_VECTORS, _FLOODING))
    least = min(vectors)
    return Measurement(
        values=(
            _CONSTANT - (max(vectors.values()) / min(vectors.values()) - 1),
            _determination(flooding) - _LINEAR,
            _CONSTANT - abs(flooding[least] / vectors[least] - 1),
        )
    )


def growth(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """Margins of the text on figure 4(b): the load of publisher brokers is linear in the number of publishers under
    propagation, under flooding, and steeper under flooding."""
    vectors, flooding = (_by_publishers(run, filtering, _OF_PUBLISHERS) for filtering in (_VECTORS, _FLOODING))
    slopes = [linear_regression(list(loads), list(loads.values())).slope for loads in (vectors, flooding)]
    return Measurement(
        values=(
            _determination(vectors) - _LINEAR,
            _determination(flooding) - _LINEAR,
            slopes[1] / slopes[0] - 1,
        )
    )


def by_leaves(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """Margins of figure 6: under propagation, the load of the publisher broker and that of a subscriber broker are the
    same for the most leaves as for the fewest; propagation costs the publisher broker at most 3 points more than
    flooding, and other brokers at most 1; bytes of a publication behind the publisher broker are the same."""
    vectors, flooding = _by_leaves(run, _VECTORS), _by_leaves(run, _FLOODING)
    least, most = vectors[min(vectors)], vectors[max(vectors)]

    def dearer(brokers: Sequence[str]) -> float:
        return max(
            mean_load(vectors[leaves], own) - mean_load(flooding[leaves], own)
            for leaves in vectors
            for own in [_named(vectors[leaves], brokers)]
        )

    return Measurement(
        values=(
            *(
                _CONSTANT - (mean_load(most, _named(most, part)) / mean_load(least, _named(least, part)) - 1)
                for part in (("pb",), ("sb",))
            ),
            0.03 - dearer(("pb",)),
            0.01 - max(dearer(("ib",)), dearer(("sb",))),
            _CONSTANT - (_bytes(most) / _bytes(least) - 1),
        )
    )


def _by_publishers(run: MeasuredRun, filtering: str, brokers: Collection[BrokerId]) -> Loads:
    found = {
        int(variant.settings[_PUBLISHERS]): mean_load(variant, brokers)
        for variant in run.variants
        if variant.settings[_FILTERING] == filtering
    }
    return dict(sorted(found.items()))


def _by_leaves(run: MeasuredRun, filtering: str) -> Mapping[int, MeasuredVariant]:
    return {
        len(variant.overlay.brokers): variant for variant in run.variants if variant.settings[_FILTERING] == filtering
    }


def _named(variant: MeasuredVariant, beginnings: Sequence[str]) -> list[BrokerId]:
    return [broker.id for broker in variant.overlay.brokers if broker.id.startswith(tuple(beginnings))]


def _bytes(variant: MeasuredVariant) -> float:
    """Mean bytes of a publication that the publisher broker sends."""
    rows = [row for row in variant.messages if row.broker == "pb" and row.kind == Kind.PUBLISH.word]
    return sum(row.sent_bytes for row in rows) / sum(row.sent for row in rows)


def _determination(loads: Loads) -> float:
    """Coefficient of determination of the straight line through the loads."""
    return correlation(list(loads), list(loads.values())) ** 2
