"""Numbers and marks within sentences."""

from __future__ import annotations

from markupsafe import Markup, escape


def capitalised(text: str) -> str:
    """A sentence whose first letter is made a capital one."""
    return text[:1].upper() + text[1:]


def milliseconds(value: float | None) -> str:
    """A delay; below 100 ms with its tenths."""
    if value is None:
        return "–"
    return f"{value:,.0f} ms" if value >= 100 else f"{value:.1f} ms"


def unbroken(text: str) -> str:
    """A sentence in which no line breaks beside an arrow between two brokers."""
    return text.replace(" → ", "\u00a0→\u00a0")


def with_code(text: str) -> Markup:
    """A sentence as HTML, with the text between backticks as code."""
    parts = [escape(part) for part in text.split("`")]
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if index % 2 else part for index, part in enumerate(parts)
    )
