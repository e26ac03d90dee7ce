"""Marks within sentences."""

from __future__ import annotations

from markupsafe import Markup, escape


def unbroken(text: str) -> str:
    """A sentence in which no line breaks beside an arrow between two brokers."""
    return text.replace(" → ", "\u00a0→\u00a0")


def with_code(text: str) -> Markup:
    """A sentence as HTML, with the text between backticks as code."""
    parts = [escape(part) for part in text.split("`")]
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if index % 2 else part for index, part in enumerate(parts)
    )
