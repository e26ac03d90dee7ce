"""Starts of restarted brokers that took longer than the verdicts allow brokers and host for their work."""

from __future__ import annotations

import msgspec


class SlowStart(msgspec.Struct, frozen=True, kw_only=True):
    """One start of a broker: from its restart until it listened for clients, as looks from outside found. Its clients'
    sessions are due from then on."""

    broker: str
    restarted_ns: int
    took_s: float

    def in_words(self) -> str:
        return f"{self.broker} took {self.took_s:.1f} s from its restart until it listened for clients"
