"""The counts of deliveries that every result holds: of a variant, of a campaign's cell, of all cells together."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from record.wording import count_of


class DeliveryFigures(msgspec.Struct, frozen=True, kw_only=True):
    """Counts of publications and notifications; `Delivery` says what each of them counts."""

    published: int
    expected: int
    delivered: int
    excused: int
    lost: int
    duplicate: int
    spurious: int
    reordered: int

    @classmethod
    def total(cls, counted: Iterable[DeliveryFigures]) -> DeliveryFigures:
        """The figures of several variants together."""
        rows = list(counted)
        names = DeliveryFigures.__struct_fields__
        return DeliveryFigures(**{name: sum(getattr(row, name) for row in rows) for name in names})

    def in_words(self, optional: int = 0) -> str:
        """The counts in one line; so many notifications were optional, where that is known."""
        besides = f" and {optional:,} optional" if optional else ""
        out_of_order = f", {self.reordered:,} reordered" if self.reordered else ""
        return (
            f"{self.published:,} published; {count_of(self.delivered, 'notification')} delivered, {self.expected:,} "
            f"expected{besides}; {self.lost:,} lost, {self.duplicate:,} duplicate, {self.spurious:,} spurious"
            f"{out_of_order}"
        )
