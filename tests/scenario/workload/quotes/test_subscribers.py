"""Subscriptions match the share of publications they are to match, and want what is popular."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from broker_service.language import Advertisement, Publication, Subscription
from broker_service.language.content import matches
from broker_service.language.relations import intersects
from scenario.model import Scenario
from scenario.workload.generate import generate
from scenario.workload.operations import OperationKind
from scenario.workload.workload import Workload
from tests.scenario.workload.quotes_population import quotes_of

MakeScenario = Callable[..., Scenario]


def measured(workload: Workload) -> list[float]:
    """Each subscription's share of the publications that are really published."""
    published = [Publication(o.attributes) for o in workload.operations() if o.attributes]
    wanted = [Subscription(choice.predicates) for one in quotes_of(workload).subscribing for choice in one.choices]
    return [sum(matches(one, publication) for publication in published) / len(published) for one in wanted]


@pytest.mark.parametrize("selectivity", [0.005, 0.02, 0.1, 0.3, 1.0])
def test_selectivity_within_tolerance_on_the_data(make_scenario: MakeScenario, selectivity: float) -> None:
    """Below and above what a single symbol (1 of 20) can give."""
    scenario = make_scenario({"publishers": 20, "rate": "10/s"}, {"subscribers": 30, "selectivity": selectivity})
    workload = generate(scenario, scenario.overlay())
    shares = measured(workload)
    assert sum(shares) / len(shares) == pytest.approx(selectivity, rel=0.1)
    assert all(share == pytest.approx(selectivity, rel=0.35, abs=0.003) for share in shares)
    expected = [choice.selectivity for one in quotes_of(workload).subscribing for choice in one.choices]
    assert expected == pytest.approx([selectivity] * 30, rel=0.1)


def test_the_selectivity_told_is_exact_over_the_whole_data(make_scenario: MakeScenario) -> None:
    scenario = make_scenario({"publishers": 5}, {"subscribers": 20, "selectivity": 0.004})
    workload = generate(scenario, scenario.overlay())
    series = {one.symbol: one for publisher in quotes_of(workload).publishing for one in publisher.series}
    for subscriber in quotes_of(workload).subscribing:
        (choice,) = subscriber.choices
        symbol = next(str(p.value) for p in choice.predicates if p.attribute == "symbol")
        quotes = [Publication(series[symbol].attributes(row)) for row in range(len(series[symbol]))]
        held = sum(matches(Subscription(choice.predicates), quote) for quote in quotes)
        assert choice.selectivity == pytest.approx(held / len(quotes) / 5)


def test_symbols_of_faster_publishers_weigh_more(make_scenario: MakeScenario) -> None:
    scenario = make_scenario({"rate": "2/s..40/s", "symbols": 6}, {"subscribers": 60, "selectivity": 0.03})
    shares = measured(generate(scenario, scenario.overlay()))
    assert sum(shares) / len(shares) == pytest.approx(0.03, rel=0.15)


def test_the_symbol_is_named_where_it_suffices(make_scenario: MakeScenario) -> None:
    def attributes(selectivity: float) -> set[str]:
        scenario = make_scenario({"publishers": 10}, {"subscribers": 20, "selectivity": selectivity})
        chosen = quotes_of(generate(scenario, scenario.overlay())).subscribing
        return {p.attribute for one in chosen for choice in one.choices for p in choice.predicates}

    assert {"class", "symbol"} < attributes(0.05)
    assert "symbol" not in attributes(0.5)
    assert attributes(1.0) == {"class"}


def test_popularity(make_scenario: MakeScenario) -> None:
    def counts(**subscriptions: object) -> list[int]:
        scenario = make_scenario({"publishers": 10}, {"subscribers": 2000, "selectivity": 0.01, **subscriptions})
        chosen = quotes_of(generate(scenario, scenario.overlay())).subscribing
        symbols = (str(p.value) for one in chosen for p in one.choices[0].predicates if p.attribute == "symbol")
        return [count for _, count in Counter(symbols).most_common()]

    harmonic = sum(1 / rank for rank in range(1, 11))
    zipf = counts(popularity="zipf")
    assert zipf[0] == pytest.approx(2000 / harmonic, rel=0.15)
    assert zipf[0] / zipf[3] == pytest.approx(4, rel=0.3)
    assert counts(popularity="zipf", exponent=3)[0] > 1.7 * zipf[0] / 1.2
    uniform = counts(popularity="uniform")
    assert uniform[0] < 1.4 * uniform[-1]


def test_selectivity_may_be_a_range(make_scenario: MakeScenario) -> None:
    scenario = make_scenario({"publishers": 10}, {"subscribers": 200, "selectivity": "1%..5%"})
    workload = generate(scenario, scenario.overlay())
    shares = sorted(one.choices[0].selectivity for one in quotes_of(workload).subscribing)
    assert 0.009 < shares[0] < 0.015
    assert 0.045 < shares[-1] < 0.055


def test_subscriptions_are_what_is_issued(make_scenario: MakeScenario) -> None:
    scenario = make_scenario()
    workload = generate(scenario, scenario.overlay())
    issued = [o for o in workload.operations() if o.operation is OperationKind.SUBSCRIBE and o.client == "S1"]
    (choice,) = quotes_of(workload).subscribing[0].choices
    assert [record.attribute for record in issued[0].predicates or ()] == [p.attribute for p in choice.predicates]


@pytest.mark.parametrize(("selectivity", "symbols"), [(0.01, 1), (0.05, 1), (0.1, 2), (0.4, 8), (1.0, 20)])
def test_ranges_over_symbols_hold_whole_symbols(make_scenario: MakeScenario, selectivity: float, symbols: int) -> None:
    """A subscription intersects the advertisements of exactly the symbols that give it its share."""
    scenario = make_scenario(
        {"publishers": 20}, {"subscribers": 40, "selectivity": selectivity, "range_over": "symbols"}
    )
    workload = generate(scenario, scenario.overlay())
    advertised = [Advertisement(tuple(s.advertisement())) for p in quotes_of(workload).publishing for s in p.series]
    for subscriber in quotes_of(workload).subscribing:
        (choice,) = subscriber.choices
        subscription = Subscription(choice.predicates)
        assert sum(intersects(one, subscription) for one in advertised) == symbols
        assert choice.selectivity == pytest.approx(symbols / 20)
    assert measured(workload) == pytest.approx([symbols / 20] * 40, rel=0.02)
    assert len({one.choices for one in quotes_of(workload).subscribing}) > 5 or symbols == 20
