"""Sentences on the time dilation of a run: the part of delays that it makes smaller than in real time."""

from __future__ import annotations

from msgspec import UNSET

from analysis.tables.summary import Delay


def missing_in_words(delay: Delay, dilation: float) -> str | None:
    """The part of the delays that a dilation took away; None without one, or without delays."""
    if dilation == 1 or delay.mean_ms is None:
        return None
    smaller = f"at a time dilation of {dilation:g}, brokers' work and platform look {1 - 1 / dilation:.0%} smaller"
    if delay.budget is UNSET or delay.budget.parts.platform_ms is None:
        return f"{smaller} than in real time, and delays are without that"
    missing = (dilation - 1) * (delay.budget.parts.work_ms + delay.budget.parts.platform_ms)
    return (
        f"{smaller} than in real time: the mean of {delay.mean_ms:.1f} ms is without {missing:.1f} ms of them, "
        f"{delay.mean_ms + missing:.1f} ms with; percentiles are without them, too"
    )
