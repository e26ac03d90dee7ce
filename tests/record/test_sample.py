from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from record.sample import PublicationSample, membership

IDS = [f"P{publisher}:{number}" for publisher in range(40) for number in range(250)]
SHARES = st.floats(0.001, 0.999)
SEEDS = st.integers(0, 2**63 - 1)


@given(SHARES, SEEDS)
def test_a_sample_has_its_share_of_all_publications(share: float, seed: int) -> None:
    """Within six standard deviations, over 10,000 publications."""
    held = sum(map(PublicationSample(share, seed).holds, IDS))
    deviation = (len(IDS) * share * (1 - share)) ** 0.5
    assert abs(held - len(IDS) * share) < 6 * deviation + 1


@given(SHARES, SHARES, SEEDS, st.text())
def test_a_larger_share_of_the_same_seed_holds_the_smaller(one: float, other: float, seed: int, id: str) -> None:
    smaller, larger = sorted((one, other))
    assert PublicationSample(smaller, seed).holds(id) <= PublicationSample(larger, seed).holds(id)


def test_the_sample_follows_from_the_seed() -> None:
    """Literal ids, because brokers of another version or process must choose the same ones."""
    held = {seed: [id for id in IDS[:500] if PublicationSample(0.01, seed).holds(id)] for seed in (1, 2)}
    assert held == {1: ["P0:37"], 2: ["P0:9", "P0:118", "P1:182", "P1:190", "P1:194"]}


@given(SHARES, SEEDS, st.lists(st.text(), max_size=20))
def test_remembered_answers_are_those_of_the_sample(share: float, seed: int, ids: list[str]) -> None:
    sample = PublicationSample(share, seed)
    holds = membership(sample)
    assert [holds(id) for id in ids * 2] == [sample.holds(id) for id in ids * 2]


@pytest.mark.parametrize("publisher", ["P1", "P2"])
def test_publications_of_one_publisher_are_chosen_independently(publisher: str) -> None:
    """No period: the gaps between chosen ones take many values."""
    chosen = [number for number in range(2_000) if PublicationSample(0.05, 3).holds(f"{publisher}:{number}")]
    gaps = [later - earlier for earlier, later in pairwise(chosen)]
    assert len(set(gaps)) > 20
