"""Marks within sentences."""

from __future__ import annotations

from analysis.report.sentences.text import unbroken, with_code


def test_text_between_backticks_becomes_code_and_nothing_else_is_markup() -> None:
    assert with_code("a < b: `--set x=<y>` helps") == "a &lt; b: <code>--set x=&lt;y&gt;</code> helps"


def test_arrows_are_not_broken_from_their_brokers() -> None:
    assert unbroken("the link B5 → B6.") == "the link B5\u00a0→\u00a0B6."
