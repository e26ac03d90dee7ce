"""Numbers within sentences."""

from __future__ import annotations

import pytest

from analysis.tables.wording import milliseconds


@pytest.mark.parametrize(
    ("value", "expected"), [(0.25, "0.2 ms"), (21.35, "21.4 ms"), (99.94, "99.9 ms"), (1234.4, "1,234 ms"), (None, "–")]
)
def test_a_delay_has_tenths_below_a_hundred(value: float | None, expected: str) -> None:
    assert milliseconds(value) == expected
