"""Sub-units that follow from a decision, whatever the pattern, the flows and the estimate of cardinalities."""

from __future__ import annotations

import pytest
from hypothesis import given

from broker_service.language.composite import Composite
from broker_service.language.composite_subscription import CompositeSubscription, parts_of
from broker_service.language.formatting import format_composite
from broker_service.language.notation import parse_composite
from broker_service.routing.tid.placement.decision.choice import Choice, least_cost
from broker_service.routing.tid.placement.decision.cost import Surroundings
from broker_service.routing.tid.placement.rates.cardinality import PartMatches
from broker_service.routing.tid.placement.sub_units import sub_units
from tests.broker_service.language.strategies import unhurried
from tests.broker_service.routing.tid.placement.decision.test_choice import FAST, situations, sources_of
from tests.broker_service.routing.tid.placement.situations import HERE

ROUND = str.maketrans("{}", "()")
LETTERS = {letter: f"{{[class,eq,'{letter}']}}" for letter in "abcdef"}


def split(pattern: str, *sources: str) -> list[tuple[str, str]]:
    """Sub-units of a pattern of letters, each with its destination; each part comes from one of the sources."""
    text = "".join(LETTERS.get(letter, letter) for letter in pattern).replace("|", "||")
    rates = sources_of(*({source: 1.0} for source in sources))
    found = sub_units(Choice(least_cost).decide(parse_composite(text), rates, FAST), HERE)
    written = []
    for sub_unit in found:
        letters = format_composite(sub_unit.pattern)[1:-1]
        for letter, part in LETTERS.items():
            letters = letters.replace(part, letter)
        written.append((letters.replace("||", "|").replace(" ", "").translate(ROUND), sub_unit.destination))
    return written


@pytest.mark.parametrize(
    ("pattern", "sources", "found"),
    [
        ("a&b", ["B1", "B2"], []),
        ("a&b&c", ["B1", "B1", "B2"], [("a&b", "B1")]),
        ("a&b&c&d", ["B1", "B2", "B1", "B2"], [("a&c", "B1"), ("b&d", "B2")]),
        ("a|b|c", ["B1", "B1", "B2"], []),
        ("(a&b)|c", ["B1", "B1", "B2"], [("a&b", "B1")]),
        ("(a|b)&c&d", ["B1", "B1", "B1", "B2"], [("(a|b)&c", "B1")]),
        ("(a|b)&c", ["B1", "B1", "B2"], []),
        ("(a&b&c)&d", ["B1", "B1", "B2", "B3"], [("a&b", "B1")]),
        ("a&b&c", [HERE, HERE, "B2"], []),
    ],
)
def test_sub_units_of_parts_of_equal_rates(pattern: str, sources: list[str], found: list[tuple[str, str]]) -> None:
    assert split(pattern, *sources) == found


@unhurried
@given(situations())
def test_sub_units_have_parts_of_their_own_and_bind_what_they_test(
    situation: tuple[Composite, list[PartMatches], Surroundings],
) -> None:
    pattern, sources, around = situation
    decision = Choice(least_cost).decide(pattern, sources, around)
    parts, taken = parts_of(pattern), set[int]()
    for sub_unit in sub_units(decision, HERE):
        assert sub_unit.destination != HERE
        assert 2 <= len(sub_unit.parts) < len(parts)
        assert parts_of(sub_unit.pattern) == tuple(parts[number] for number in sub_unit.parts)
        assert taken.isdisjoint(sub_unit.parts)
        taken.update(sub_unit.parts)
        CompositeSubscription(sub_unit.pattern, 1)
