"""Contents of declarations: the meaning of clients' subscriptions, advertisements and composite subscriptions, by the
judge's own reading of their records."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from analysis.judging.histories.history import History
from analysis.judging.language import (
    Composite,
    Conjunction,
    OutsideLanguageError,
    Part,
    advertised,
    composed,
    parts_of,
    subscribed,
)
from analysis.reading.lifetimes import DeclarationLifetime
from record.log import Event


class DeclaredPart(NamedTuple):
    """A part of a composite subscription."""

    lifetime: int
    """The number of the composite subscription in its history."""
    place: int
    """Place of the part in the pattern."""
    part: Part


class Declared(NamedTuple):
    """The contents of all declarations of a history, in order."""

    subscriptions: tuple[Conjunction, ...]
    advertisements: tuple[Conjunction, ...]
    parts: tuple[DeclaredPart, ...]

    @classmethod
    def of(cls, history: History) -> Declared:
        """Reads the contents of all declarations of a history."""
        subscriptions: list[Conjunction] = []
        advertisements: list[Conjunction] = []
        for lifetime in history.lifetimes:
            conjunction = conjunction_of(lifetime)
            if conjunction is not None:
                (subscriptions if lifetime.made is Event.SUBSCRIBE else advertisements).append(conjunction)
        return cls(tuple(subscriptions), tuple(advertisements), declared_parts(history))


def conjunction_of(lifetime: DeclarationLifetime) -> Conjunction | None:
    """The conditions of a subscription or an advertisement. None for one that is outside the language, which no
    publication matches, and for a composite subscription."""
    if lifetime.made is Event.COMPOSE:
        return None
    read = subscribed if lifetime.made is Event.SUBSCRIBE else advertised
    try:
        return read(lifetime.predicates)
    except OutsideLanguageError:
        return None


def composite_of(lifetime: DeclarationLifetime) -> Composite | None:
    """The pattern and the window of a composite subscription. None for one whose record has no window or a pattern
    outside the language, and for other declarations."""
    if lifetime.made is not Event.COMPOSE or lifetime.within is None:
        return None
    return _composite(lifetime.pattern or "", lifetime.within)


def is_sound(lifetime: DeclarationLifetime) -> bool:
    """True when the language allows the content of a declaration."""
    return conjunction_of(lifetime) is not None or composite_of(lifetime) is not None


def declared_parts(history: History) -> tuple[DeclaredPart, ...]:
    """The parts of all composite subscriptions of a history."""
    return tuple(
        DeclaredPart(number, place, part)
        for number, lifetime in enumerate(history.lifetimes)
        if (composite := composite_of(lifetime)) is not None
        for place, part in enumerate(parts_of(composite.pattern))
    )


@lru_cache(maxsize=4_096)
def _composite(text: str, within: int) -> Composite | None:
    """A composite subscription, read once, because many clients have the same."""
    try:
        return composed(text, within)
    except OutsideLanguageError:
        return None
