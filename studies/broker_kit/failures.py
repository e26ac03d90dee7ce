"""Findings of rows against a broker."""

from __future__ import annotations

from collections.abc import Sequence


class RowFailure(Exception):  # noqa: N818 - the outcome of a row, not a fault of the program
    """A broker does not do what a statement of the contract demands; the text says so in one sentence."""


class NotApplicable(Exception):  # noqa: N818
    """A row says nothing on this broker; the text is the reason."""


def require(condition: object, sentence: str) -> None:
    """Raises `RowFailure` with the sentence unless the condition holds."""
    if not condition:
        raise RowFailure(sentence)


def listed(items: Sequence[object], most: int = 8) -> str:
    """Items in words, not more than a reader wants."""
    shown = ", ".join(map(str, items[:most]))
    return (shown or "nothing") + (f" and {len(items) - most} more" if len(items) > most else "")
