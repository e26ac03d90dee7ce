"""Vectors of virtual times: comparison, and their bytes on links."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_service.routing.gryphon.virtual_time import (
    MOST_TIME,
    VirtualClock,
    decode_vector,
    difference,
    dominates,
    encode_vector,
    maximum,
    part_of,
    raise_to,
)
from broker_service.routing.interface import MalformedMessageError

LEAVES = 400
times = st.integers(1, 5) | st.integers(1, MOST_TIME)
vectors = st.dictionaries(st.integers(0, 5) | st.integers(0, LEAVES - 1), times, max_size=8)


@given(vectors, vectors)
def test_elements_that_are_missing_are_zero(one: dict[int, int], other: dict[int, int]) -> None:
    assert dominates(one, other) == all(one.get(leaf, 0) >= other.get(leaf, 0) for leaf in range(LEAVES))
    both = maximum(one, other)
    assert all(both.get(leaf, 0) == max(one.get(leaf, 0), other.get(leaf, 0)) for leaf in range(LEAVES))
    raised = dict(one)
    assert raise_to(raised, other) == (both != one)
    assert raised == both


@given(vectors, vectors)
def test_a_difference_leads_from_one_vector_to_a_later_one(one: dict[int, int], other: dict[int, int]) -> None:
    later = maximum(one, other)
    changed = difference(later, one)
    assert one | changed == later
    assert all(one.get(leaf) != time for leaf, time in changed.items())
    assert part_of(later, changed) == changed


@given(vectors)
def test_vectors_survive_a_link(vector: dict[int, int]) -> None:
    assert decode_vector(encode_vector(vector), LEAVES) == vector


def test_an_element_of_a_neighbouring_leaf_takes_three_bytes_in_any_early_incarnation() -> None:
    vector = {leaf: VirtualClock(incarnation=100).time + 20 for leaf in range(56)}
    assert len(encode_vector(vector)) == 3 * 56


@given(st.binary(max_size=40))
def test_hostile_bytes_are_refused_or_are_a_vector(data: bytes) -> None:
    try:
        vector = decode_vector(data, LEAVES)
    except MalformedMessageError:
        return
    assert all(0 <= leaf < LEAVES and 0 < time <= MOST_TIME for leaf, time in vector.items())


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\x01", "within an element"),
        (b"\x01\x00\x80", "within a number"),
        (b"\x01\x00\x00", "no virtual time"),
        (b"\x7f\x00\x01" * 9, "of leaf"),
        (b"\x00\xff\xff\xff\xff\xff\x01\x01", "too long"),
        (b"\x00\xff\xff\xff\xff\x0f\x01", "no virtual time"),
        (b"\x00\x00\xff\xff\xff\xff\x1f", "no virtual time"),
    ],
)
def test_bytes_that_are_no_vector(data: bytes, reason: str) -> None:
    with pytest.raises(MalformedMessageError, match=reason):
        decode_vector(data, LEAVES)


def test_the_clock_never_runs_back() -> None:
    first, second = VirtualClock(), VirtualClock(incarnation=2)
    assert (first.time, first.announced) == (1, 0)
    assert first.advance() == 1
    assert (first.time, first.announced) == (2, 1)
    for _ in range(1_000):
        first.advance()
    assert second.announced > first.time
