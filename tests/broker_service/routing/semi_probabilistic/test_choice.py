"""The choice of links, by its rules as properties, and the draws by their distribution."""

from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_service.routing.semi_probabilistic.choice import choose, fanout

CANDIDATES = [f"B{number}" for number in range(1, 9)]
DRAWS = 10_000
CHI_SQUARE = {3: 30.66, 5: 35.89}
"""Values that chi-square of so many degrees of freedom exceeds with a probability of 1e-6."""


@st.composite
def matched(draw: st.DrawFn) -> tuple[list[str], dict[str, int]]:
    """Candidates, and distances over links, some of which are no candidates."""
    candidates = CANDIDATES[: draw(st.integers(0, len(CANDIDATES)))]
    return candidates, draw(st.dictionaries(st.sampled_from(CANDIDATES), st.integers(1, 4)))


def test_the_fanout_is_the_exact_ceiling() -> None:
    for percent in range(101):
        threshold = Fraction(str(percent / 100))
        for candidates in range(41):
            assert fanout(threshold, candidates) == -(-percent * candidates // 100)


@given(drawn=matched(), fanout=st.integers(0, 9), seed=st.integers(0, 9))
def test_the_links_are_those_of_the_rules(drawn: tuple[list[str], dict[str, int]], fanout: int, seed: int) -> None:
    candidates, distances = drawn
    choice = choose(candidates, distances, fanout, fanout, random.Random(seed))
    used = [*choice.deterministic, *choice.random]
    adjacent = {candidate for candidate in candidates if distances.get(candidate) == 1}
    unused = set(candidates) - set(used)
    assert len(set(used)) == len(used)
    assert set(used) <= set(candidates)
    assert adjacent <= set(choice.deterministic)
    assert len(used) == max(len(adjacent), min(fanout, len(candidates)))
    assert all(candidate in distances for candidate in choice.deterministic)
    assert not any(candidate in distances for candidate in choice.random)
    nearest_unused = min((distances[candidate] for candidate in unused & distances.keys()), default=None)
    if nearest_unused is not None:
        assert not choice.random
        assert all(distances[candidate] <= nearest_unused for candidate in choice.deterministic)


@given(drawn=matched(), fanout=st.integers(0, 9))
def test_without_a_limit_all_links_to_subscribers_are_used(
    drawn: tuple[list[str], dict[str, int]], fanout: int
) -> None:
    candidates, distances = drawn
    choice = choose(candidates, distances, fanout, len(candidates), random.Random(1))
    wanted = set(candidates) & distances.keys()
    assert set(choice.deterministic) == wanted
    assert len(choice.random) == max(0, min(fanout, len(candidates)) - len(wanted))


def chi_square(counts: Counter[frozenset[str]], outcomes: int) -> float:
    expected = counts.total() / outcomes
    return sum((count - expected) ** 2 / expected for count in counts.values()) + expected * (outcomes - len(counts))


@pytest.mark.parametrize("drawn", [1, 2, 3])
def test_each_set_of_random_links_is_equally_likely(drawn: int) -> None:
    rng = random.Random(1)
    four = CANDIDATES[:4]
    counts = Counter(frozenset(choose(four, {}, drawn, drawn, rng).random) for _ in range(DRAWS))
    outcomes = len(list(combinations(four, drawn)))
    assert chi_square(counts, outcomes) < CHI_SQUARE[outcomes - 1]


def test_each_of_equally_near_links_is_equally_likely() -> None:
    rng = random.Random(1)
    distances = {"B1": 3, "B2": 2, "B3": 2, "B4": 2, "B5": 2}
    counts = Counter(frozenset(choose(CANDIDATES, distances, 2, 2, rng).deterministic) for _ in range(DRAWS))
    assert not any("B1" in chosen for chosen in counts)
    assert chi_square(counts, 6) < CHI_SQUARE[5]
