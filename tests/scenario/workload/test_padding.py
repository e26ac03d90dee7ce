"""Padding: contents of one encoded size."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_service.language import Publication, Value
from broker_service.language.content import encode_publication
from scenario.workload.padding import Padding, encoded_size

CONTENTS = st.integers(0, 10**9).map(lambda value: {"class": "INTEGER", "value": value})


@given(CONTENTS, st.integers(0, 40_000))
def test_no_larger_content_would_fit(content: dict[str, Value], size: int) -> None:
    padded = Padding(size).padded(content)
    reached = encoded_size(padded)
    if "padding" in padded:
        assert reached <= size
        assert encoded_size({**padded, "padding": f"{padded['padding']}."}) > size
    else:
        assert padded == content
        assert encoded_size({**content, "padding": "."}) > size
    assert {name: value for name, value in padded.items() if name != "padding"} == content


@pytest.mark.parametrize("size", [100, 200, 1000, 20_000])
def test_usual_sizes_are_exact(size: int) -> None:
    pad = Padding(size)
    for value in (0, 1, 127, 128, 1999, 100_000):
        padded = pad.padded({"class": "INTEGER", "value": value})
        assert len(encode_publication(Publication(padded))) == size
