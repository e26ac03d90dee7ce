from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_service.routing.interface import MalformedMessageError
from broker_service.routing.octopia.vector import (
    MOST_CLUSTERS,
    bit,
    clusters_of,
    decode_vector,
    encode_vector,
    written,
)

CLUSTERS = st.sets(st.integers(0, 200))


@given(CLUSTERS)
def test_a_vector_is_a_set_of_clusters(clusters: set[int]) -> None:
    vector = sum(bit(cluster) for cluster in clusters)
    assert list(clusters_of(vector)) == sorted(clusters)
    assert decode_vector(encode_vector(vector)) == vector
    digits = written(vector, 201)
    assert {index for index, digit in enumerate(reversed(digits)) if digit == "1"} == clusters


def test_an_empty_vector_takes_no_room() -> None:
    assert encode_vector(0) == b""
    assert decode_vector(b"") == 0


def test_a_vector_longer_than_any_overlay_makes_it_is_refused() -> None:
    assert decode_vector(bytes(MOST_CLUSTERS // 8)) == 0
    with pytest.raises(MalformedMessageError, match="4097 bytes"):
        decode_vector(bytes(MOST_CLUSTERS // 8 + 1))


def test_a_vector_that_names_a_cluster_which_there_is_not_is_refused() -> None:
    assert decode_vector(encode_vector(bit(4)), clusters=5) == bit(4)
    with pytest.raises(MalformedMessageError, match="cluster 5, and there are 5"):
        decode_vector(encode_vector(bit(5)), clusters=5)
