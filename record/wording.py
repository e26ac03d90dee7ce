"""Words for numbers, in sentences and tables for people."""

from __future__ import annotations


def count_of(number: int, noun: str, plural: str = "") -> str:
    """A number with its noun, such as `1 broker` and `1,200 brokers`; `plural` where it is not the noun with an s."""
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"
