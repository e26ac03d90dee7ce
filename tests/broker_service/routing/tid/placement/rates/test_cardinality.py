from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_service.language.composite import And, Atomic, Or
from broker_service.language.notation import parse_advertisement, parse_composite
from broker_service.routing.tid.placement.rates.cardinality import (
    PartMatches,
    Source,
    joined_rate,
    matches_of,
)
from broker_service.routing.tid.placement.rates.statistics import Statistics, guess

PRICES = parse_advertisement("[class,eq,'A'],[price,>=,0],[price,<=,100]")
rates = st.lists(st.floats(0, 1000), min_size=2, max_size=5)


def part(text: str) -> Atomic:
    parsed = parse_composite("{" + text + "}")
    assert isinstance(parsed, Atomic)
    return parsed


ANY = part("[class,isPresent,'']")


@given(rates)
def test_table_2(rates: list[float]) -> None:
    several = (ANY,) * len(rates)
    assert joined_rate(And(several), rates) == min(rates)
    assert joined_rate(Or(several), rates) == sum(rates)


def test_a_part_has_the_rates_of_its_advertisements_times_their_selection_factors() -> None:
    slow, fast = guess(PRICES), Statistics(10.0, guess(PRICES).attributes)
    sources = [Source("B1", slow), Source("B2", fast), Source("B1", fast)]
    matched = matches_of(part("[class,eq,'A'],[price,<,25]"), sources)
    assert matched.rate == pytest.approx(21 / 4)
    assert matched.flows == {"B1": pytest.approx(11 / 4), "B2": pytest.approx(10 / 4)}
    assert matches_of(ANY, []) == PartMatches(0, {})


def test_a_variable_does_not_reduce_the_matches_of_a_part() -> None:
    matches = matches_of(part("[class,eq,$S$X],[price,=,$I$Y]"), [Source("B1", guess(PRICES))])
    assert matches.rate == pytest.approx(1)
