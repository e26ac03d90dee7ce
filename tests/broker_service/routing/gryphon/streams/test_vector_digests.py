"""Vectors by digest, and which of them each link carries."""

from __future__ import annotations

import pytest

from broker_service.routing.gryphon.streams.vector_digests import EncodedVector, VectorDigests
from broker_service.routing.interface import MalformedMessageError

LEAVES = dict.fromkeys(range(5))


def test_a_link_carries_each_vector_once_and_then_what_differs() -> None:
    sender, receiver = VectorDigests(), VectorDigests()
    sender.add(1, {0: 5, 1: 7})
    sender.add(9, {0: 5, 1: 8, 2: 1})
    first = sender.encode(1, "b")
    assert receiver.decode(1, first, LEAVES) == {0: 5, 1: 7}
    assert sender.encode(1, "b") == EncodedVector()
    second = sender.encode(9, "b")
    assert second.base == 1
    assert receiver.decode(9, second, LEAVES) == {0: 5, 1: 8, 2: 1}
    assert sender.encode(9, "b") == EncodedVector()
    assert sender.encode(9, "c").base == 0


def test_after_a_link_broke_a_vector_travels_whole() -> None:
    sender = VectorDigests()
    sender.add(1, {0: 5})
    sender.encode(1, "b")
    sender.link_up("b")
    assert VectorDigests().decode(1, sender.encode(1, "b"), LEAVES) == {0: 5}


def test_an_earlier_vector_travels_whole() -> None:
    sender = VectorDigests()
    sender.add(1, {0: 5})
    sender.add(9, {0: 6})
    sender.encode(9, "b")
    assert VectorDigests().decode(1, sender.encode(1, "b"), LEAVES) == {0: 5}


def test_a_vector_whose_base_was_missed_is_unknown() -> None:
    sender = VectorDigests()
    sender.add(1, {0: 5})
    sender.add(9, {0: 6})
    sender.encode(1, "b")
    late = VectorDigests()
    assert late.decode(1, EncodedVector(), LEAVES) is None
    assert late.decode(9, sender.encode(9, "b"), LEAVES) is None
    assert late.latest() is None


def test_vectors_that_no_position_has_are_forgotten() -> None:
    digests = VectorDigests()
    for digest in (1, 5, 9):
        digests.add(digest, {0: digest})
    assert digests.forget_below(8) == [1]
    assert digests.get(5) == {0: 5}
    assert digests.latest() == (9, {0: 9})


def test_a_vector_of_a_leaf_that_is_not_there_is_refused() -> None:
    sender = VectorDigests()
    sender.add(1, {99: 5})
    with pytest.raises(MalformedMessageError, match="leaves"):
        VectorDigests().decode(1, sender.encode(1, "b"), LEAVES)
