"""Figures of best-effort protocols show the numbers of their tables."""

from __future__ import annotations

from analysis.report.figures.delivery_ratio import ratio_by_receivers_figure, route_lengths_figure
from analysis.tables.deliveries import DeliveryByReceivers
from analysis.tables.traffic import RouteLength


def test_the_ratio_by_receivers_has_a_line_for_each_variant_with_rows() -> None:
    rows = [
        DeliveryByReceivers(variant="gossip", receivers=n, publications=5, due=5 * n, notified=2 * n, ratio=0.4)
        for n in (3, 7)
    ]
    (line,) = ratio_by_receivers_figure(rows, ["flooding", "gossip"]).data
    assert (line.name, list(line.x), list(line.y)) == ("gossip", [3, 7], [0.4, 0.4])
    assert list(line.customdata) == [5, 5]


def test_routes_show_all_copies_and_those_that_ended() -> None:
    rows = [RouteLength(variant="gossip", hops=hops, first=10, repeated=hops) for hops in (1, 2)]
    arrived, ended = route_lengths_figure(rows, ["flooding", "gossip"]).data
    assert (list(arrived.x), list(arrived.y)) == ([1, 2], [11, 12])
    assert list(ended.y) == [1, 2]
    assert (arrived.showlegend, ended.showlegend) == (True, False)
    assert (arrived.line.dash, ended.line.dash) == ("solid", "dot")
