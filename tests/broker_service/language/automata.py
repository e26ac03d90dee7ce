"""An independent oracle for strings: every condition as a finite automaton, conjunctions as their product.

It shares nothing with the product's reasoning about intervals and cones. Characters that no condition tells apart
behave alike, so the alphabet is finite: every character that occurs, and one of each gap between them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from broker_service.language import Operator
from broker_service.language.content import TESTS

Condition = tuple[Operator, str]
Literal = tuple[Operator, str, bool]
"""An operator, its value, and whether the condition holds (or fails)."""

_PARTS = {Operator.STRING_CONTAINS, Operator.STRING_POSTFIX}


def some_string(literals: Sequence[Literal]) -> str | None:
    """Return a shortest string for which each condition holds or fails as it should, or None where there is none."""
    alphabet = list(_alphabet("".join(value for _, value, _ in literals)))
    layer: dict[tuple[object, ...], str] = {_state("", literals): ""}
    seen = set(layer)
    while layer:
        following: dict[tuple[object, ...], str] = {}
        for text in layer.values():
            if all(TESTS[operator](text, value) is wanted for operator, value, wanted in literals):
                return text
            for character in alphabet:
                state = _state(text + character, literals)
                if state not in seen:
                    seen.add(state)
                    following[state] = text + character
        layer = following
    return None


def _state(text: str, literals: Sequence[Literal]) -> tuple[object, ...]:
    """All of the text read so far that can still matter."""
    return tuple(_remembered(text, operator, value) for operator, value, _ in literals)


def _remembered(text: str, operator: Operator, value: str) -> object:
    if operator is Operator.PRESENT:
        return None
    if operator is Operator.STRING_CONTAINS and value in text:
        return "found"
    if operator in _PARTS:
        # The longest end of the text with which an occurrence of the value could begin.
        return next(length for length in range(len(value), -1, -1) if text.endswith(value[:length]))
    if len(text) <= len(value) and value.startswith(text):
        return len(text)
    return text.startswith(value), text < value


def _alphabet(occurring: str) -> Iterator[str]:
    codes = sorted({ord(character) for character in occurring})
    previous = -1
    for code in [*codes, 0x110000]:
        gap = next((c for c in range(previous + 1, code) if not 0xD800 <= c < 0xE000), None)
        if gap is not None:
            yield chr(gap)
        if code < 0x110000:
            yield chr(code)
        previous = code
