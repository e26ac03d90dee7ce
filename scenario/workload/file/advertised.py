"""Advertisements of publishers of whom the file has none: one each, made of all that the publisher publishes.

Of text, the advertisement names the value where there is only one, and otherwise says that there is some text; of
numbers, it names the least and the greatest.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from broker_service.language import Operator, Predicate, Publication, Value


@dataclass(slots=True)
class PublishedContent:
    """The attributes that one client publishes."""

    first_row: int
    """The number of the row with its first publication."""
    _texts: dict[str, str | None] = field(default_factory=dict)
    """The value of each attribute that is a text; None where there are several."""
    _numbers: dict[str, tuple[int | float, int | float]] = field(default_factory=dict)
    """The least and the greatest value of each attribute that is a number."""

    def add(self, publication: Publication) -> str | None:
        """Adds a publication. Returns the attribute whose type differs from earlier publications, if there is one."""
        texts, numbers = self._texts, self._numbers
        for name, value in publication.attributes.items():
            if isinstance(value, str):
                if name in numbers:
                    return name
                if texts.setdefault(name, value) != value:
                    texts[name] = None
            else:
                if name in texts:
                    return name
                least, greatest = numbers.setdefault(name, (value, value))
                if not least <= value <= greatest:
                    numbers[name] = (min(least, value), max(greatest, value))
        return None

    def predicates(self) -> Iterator[Predicate]:
        """The predicates of the advertisement."""
        for name, text in self._texts.items():
            yield Predicate(name, Operator.PRESENT, "") if text is None else _equal(name, text)
        for name, (least, greatest) in self._numbers.items():
            if least == greatest:
                yield _equal(name, least)
            else:
                yield Predicate(name, Operator.GREATER_OR_EQUAL, least)
                yield Predicate(name, Operator.LESS_OR_EQUAL, greatest)


def _equal(name: str, value: Value) -> Predicate:
    return Predicate(name, Operator.STRING_EQUAL if isinstance(value, str) else Operator.EQUAL, value)
