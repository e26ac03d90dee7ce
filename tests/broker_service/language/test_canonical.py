"""The canonical form: the same for all orders and groupings of a pattern, and different for different patterns."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_service.language.canonical import canonical
from broker_service.language.composite import And, Composite, Or
from broker_service.language.notation import parse_composite
from tests.broker_service.language.strategies import composites, rearranged, small_patterns, unhurried


@unhurried
@given(st.one_of(composites, small_patterns), st.randoms(use_true_random=False))
def test_order_and_grouping_do_not_matter(pattern: Composite, rng: random.Random) -> None:
    assert repr(canonical(rearranged(pattern, rng))) == repr(canonical(pattern))


@unhurried
@given(st.one_of(composites, small_patterns))
def test_it_is_its_own_canonical_form(pattern: Composite) -> None:
    assert repr(canonical(canonical(pattern))) == repr(canonical(pattern))


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("[a,=,1] & [a,=,1]", "[a,=,1]"),
        ("[a,=,1] & [b,=,1]", "[a,=,1] || [b,=,1]"),
        ("[a,=,1] & ([b,=,1] || [c,=,1])", "[a,=,1] & [b,=,1] || [c,=,1]"),
        ("[a,=,$I$X] & [b,=,$I$X]", "[a,=,$I$X] & [b,=,$I$Y]"),
        ("[a,=,1],[b,=,1]", "[a,=,1] & [b,=,1]"),
    ],
)
def test_different_patterns_stay_different(left: str, right: str) -> None:
    assert canonical(parse_composite(left)) != canonical(parse_composite(right))


def test_chains_are_one_node() -> None:
    nested = And((And((_part("a"), _part("b"))), Or((_part("c"), _part("c")))))
    assert canonical(nested) == And((_part("a"), _part("b"), _part("c")))


def _part(attribute: str) -> Composite:
    return parse_composite(f"[{attribute},=,1]")
