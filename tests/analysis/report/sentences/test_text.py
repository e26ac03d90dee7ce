"""Numbers and marks within sentences."""

from __future__ import annotations

import pytest

from analysis.report.sentences.text import milliseconds, unbroken, with_code


def test_text_between_backticks_becomes_code_and_nothing_else_is_markup() -> None:
    assert with_code("a < b: `--set x=<y>` helps") == "a &lt; b: <code>--set x=&lt;y&gt;</code> helps"


@pytest.mark.parametrize(
    ("value", "expected"), [(0.25, "0.2 ms"), (21.35, "21.4 ms"), (99.94, "99.9 ms"), (1234.4, "1,234 ms"), (None, "–")]
)
def test_a_delay_has_tenths_below_a_hundred(value: float | None, expected: str) -> None:
    assert milliseconds(value) == expected


def test_arrows_are_not_broken_from_their_brokers() -> None:
    assert unbroken("the link B5 → B6.") == "the link B5\u00a0→\u00a0B6."
