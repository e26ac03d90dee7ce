"""Rates of clients over time."""

from __future__ import annotations

from analysis.report.figures.rates import client_rates_figure
from analysis.trace import Rate


def test_each_second_of_the_run_has_a_value() -> None:
    rates = [Rate("fixed", -1, 9, 9), Rate("fixed", 0, 2, 0), Rate("fixed", 2, 1, 4)]
    delivered, published = client_rates_figure(rates, ["fixed"]).data
    assert (delivered.name, list(delivered.x), list(delivered.y)) == ("delivered", [0, 1, 2], [0, 0, 4])
    assert (published.name, list(published.y), published.line.dash) == ("published", [2, 0, 1], "dot")


def test_variants_are_named_and_have_their_colours() -> None:
    rates = [Rate("fixed", 0, 2, 0), Rate("dynamic", 0, 1, 4)]
    lines = client_rates_figure(rates, ["fixed", "dynamic"]).data
    assert [line.name for line in lines] == [
        "fixed, delivered", "fixed, published", "dynamic, delivered", "dynamic, published",
    ]  # fmt: skip
    assert lines[0].line.color == lines[1].line.color != lines[2].line.color
