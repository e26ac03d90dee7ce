from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_service.language import Publication
from broker_service.language.composite import And, Atomic, Or
from broker_service.language.notation import parse_advertisement, parse_composite
from broker_service.routing.tid.placement.rates.cardinality import (
    Matches,
    PartMatches,
    Source,
    matches_of,
    paper,
    within,
)
from broker_service.routing.tid.placement.rates.statistics import Sample, Statistics, guess

PRICES = parse_advertisement("[class,eq,'A'],[price,>=,0],[price,<=,100]")
rates = st.lists(st.floats(0, 1000), min_size=2, max_size=5)


def part(text: str) -> Atomic:
    parsed = parse_composite("{" + text + "}")
    assert isinstance(parsed, Atomic)
    return parsed


ANY = part("[class,isPresent,'']")


def matches_at(rate: float) -> Matches:
    return Matches(rate, {})


@given(rates)
def test_table_2(rates: list[float]) -> None:
    operands = [matches_at(rate) for rate in rates]
    several = (ANY,) * len(rates)
    assert paper(And(several), operands).rate == min(rates)
    assert paper(Or(several), operands).rate == sum(rates)
    assert within(3.0)(Or(several), operands).rate == pytest.approx(sum(rates))


def test_a_part_has_the_rates_of_its_advertisements_times_their_selection_factors() -> None:
    slow, fast = guess(PRICES), Statistics(10.0, guess(PRICES).attributes)
    sources = [Source("B1", slow), Source("B2", fast), Source("B1", fast)]
    matched = matches_of(part("[class,eq,'A'],[price,<,25]"), sources)
    assert matched.matches.rate == pytest.approx(21 / 4)
    assert matched.flows == {"B1": pytest.approx(11 / 4), "B2": pytest.approx(10 / 4)}
    assert matches_of(ANY, []) == PartMatches(Matches(0, {}), {})


def test_a_variable_does_not_reduce_the_matches_of_a_part() -> None:
    matches = matches_of(part("[class,eq,$S$X],[price,=,$I$Y]"), [Source("B1", guess(PRICES))]).matches
    assert matches.rate == pytest.approx(1)
    assert {variable.name: values.total for variable, values in matches.values.items()} == {"X": 1, "Y": 1}


def described(values: list[int], rate: float) -> Statistics:
    sample = Sample(parse_advertisement("[class,eq,'A'],[x,isPresent,0]"), now=0)
    for value in values:
        sample.add(Publication({"class": "A", "x": value}))
    return Statistics(rate, sample.describe(now=1).attributes)


@pytest.mark.parametrize(("operands", "different"), [(2, 1), (2, 4), (2, 60), (3, 1), (3, 4)])
def test_detections_within_a_window_are_as_many_as_random_arrivals_complete(operands: int, different: int) -> None:
    """Two or three streams of one publication a second, whose variable has so many values."""
    rng = random.Random(operands * 100 + different)
    window, duration = (5.0, 4000.0) if operands == 2 else (1.5, 2000.0)
    values = list(range(different)) * (256 // different)
    combine = within(window)
    open_part = part("[x,=,$I$X]")
    source = Source("B1", described(values, 1.0))
    estimated = combine(And((open_part,) * operands), [matches_of(open_part, [source]).matches] * operands).rate
    streams = [
        sorted((rng.uniform(0, duration), rng.randrange(different)) for _ in range(int(duration)))
        for _ in range(operands)
    ]
    counted = sum(_completed(stamp, value, streams[1:], stamp, stamp, window) for stamp, value in streams[0])
    assert estimated == pytest.approx(counted / duration, rel=0.2)


def _completed(
    stamp: float, value: int, streams: list[list[tuple[float, int]]], first: float, last: float, window: float
) -> int:
    """Combinations of one publication with one of each stream that have the same value and fit in the window."""
    if not streams:
        return 1
    total = 0
    for other, other_value in streams[0]:
        if other > first + window:
            break
        low, high = min(first, other), max(last, other)
        if other_value == value and high - low <= window:
            total += _completed(other, value, streams[1:], low, high, window)
    return total


def test_values_that_one_operand_alone_binds_do_not_reduce_its_detections() -> None:
    source = Source("B1", described([1, 2], 2.0))
    bound, free = (matches_of(part(text), [source]).matches for text in ("[x,=,$I$X]", "[x,>,0]"))
    assert within(1.0)(And((ANY, ANY)), [bound, free]).rate == pytest.approx(2 * 1 * 2 * 2)


def test_values_that_never_agree_complete_nothing() -> None:
    first, second = (
        matches_of(part("[x,=,$I$X]"), [Source("B1", described([value], 1.0))]).matches for value in (1, 2)
    )
    assert within(1.0)(And((ANY, ANY)), [first, second]).rate == 0
