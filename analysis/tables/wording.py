"""Numbers within sentences."""

from __future__ import annotations


def capitalised(text: str) -> str:
    """A sentence whose first letter is made a capital one."""
    return text[:1].upper() + text[1:]


def milliseconds(value: float | None) -> str:
    """A delay; below 100 ms with its tenths."""
    if value is None:
        return "–"
    return f"{value:,.0f} ms" if value >= 100 else f"{value:.1f} ms"


def rounded(value: float) -> str:
    """A part of a delay, without its unit; below 10 with its tenths."""
    return f"{value:,.0f}" if value >= 10 else f"{value:.1f}"
