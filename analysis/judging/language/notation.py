"""The PADRES notation of composite subscriptions, read for the judge.

    {{[class,eq,'A'],[x,eq,$S$X]}&{[class,eq,'B'],[y,eq,$S$X]}} || ([class,eq,'C'])

1. A predicate is `[attribute,operator,value]`; predicates joined by commas are a part. Braces and parentheses group
   alike, and each is closed by its own kind. `&`, also written `&&`, binds tighter than `||`. White space is free.
2. A string stands in single or double quotes; that quote within it is written twice. A word that begins with a letter,
   `_`, `:` or `/` is a string without quotes.
3. A number is decimal, with an exponent if need be. Without point and exponent it is an integer.
4. `$S$name` is a variable for strings, `$I$name` and `$F$name` are one for numbers. In quotes they are strings.
5. Operands joined by one kind of operator, on one level of grouping, are operands of one node.

Groups that are open are kept on a list and not by recursion, so that no text can exhaust the stack.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Final, NamedTuple

from analysis.judging.language.conditions import Condition, condition_of, relation_named
from analysis.judging.language.patterns import (
    MAX_DEPTH,
    AllOf,
    AnyOf,
    Composite,
    Part,
    Pattern,
    Variable,
    VariableRelation,
    checked,
)
from analysis.judging.language.values import MAX_DIGITS, OutsideLanguageError, check_name, check_value
from analysis.reading.publication_events import Value

MAX_TEXT: Final = 65_536
"""Code points of a pattern's text."""

_TOKEN = re.compile(
    r"""\s*(?:
    (?P<sign>\|\||&&?|[\[\]{}(),])
    | '(?P<single>(?:[^']|'')*)'
    | "(?P<double>(?:[^"]|"")*)"
    | (?P<bare>[^\s\[\]{}(),'"&|]+)
    )""",
    re.VERBOSE,
)
_INTEGER = re.compile(r"[+-]?([0-9]+)")
_DECIMAL = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
_WORD = re.compile(r"[^\W\d]|[:/]")
_VARIABLE = re.compile(r"\$([SIF])\$([^\W\d][\w-]{0,63})")
_CLOSING = {"{": "}", "(": ")"}


class _Token(NamedTuple):
    """A sign, a bare word, or a text that was quoted."""

    kind: str
    """`sign`, `bare` or `quoted`."""
    text: str


@dataclass(slots=True)
class _Group:
    """The operands within an open brace or parenthesis, or at the outermost level."""

    closing: str
    terms: list[list[tuple[Pattern, int]]] = field(default_factory=lambda: [[]])
    """Operands of `||`, of each its operands of `&` with their levels."""

    def pattern(self) -> tuple[Pattern, int]:
        """The pattern, and the levels within it."""
        return _node(AnyOf, [_node(AllOf, term) for term in self.terms])


def composed(text: str, within: int) -> Composite:
    """The composite subscription of a text and a window in nanoseconds. Raises `OutsideLanguageError`."""
    if len(text) > MAX_TEXT:
        raise OutsideLanguageError(f"a pattern of {len(text)} characters")
    check_value(text)
    return checked(_pattern(list(_tokens(text))), within)


def _pattern(tokens: Sequence[_Token]) -> Pattern:
    groups = [_Group("")]
    place, wanted = 0, True  # wanted: an operand has to follow
    while place < len(tokens):
        token, group = tokens[place], groups[-1]
        sign = token.text if token.kind == "sign" else ""
        if wanted and sign in _CLOSING:
            groups.append(_Group(_CLOSING[sign]))
        elif wanted:
            part, place = _part(tokens, place)
            group.terms[-1].append((part, 1))
            wanted = False
            continue
        elif sign in ("&", "&&", "||"):
            if sign == "||":
                group.terms.append([])
            wanted = True
        elif sign and sign == group.closing:
            groups.pop()
            groups[-1].terms[-1].append(group.pattern())
        else:
            raise OutsideLanguageError(f"{token.text[:40]!r} follows an operand")
        place += 1
    if wanted or len(groups) > 1:
        raise OutsideLanguageError("a pattern that ends early")
    return groups[0].pattern()[0]


def _node(kind: type[AllOf] | type[AnyOf], operands: Sequence[tuple[Pattern, int]]) -> tuple[Pattern, int]:
    """The node of these operands; a single one stays itself."""
    if len(operands) == 1:
        return operands[0]
    levels = 1 + max(levels for _, levels in operands)
    if levels > MAX_DEPTH:
        raise OutsideLanguageError(f"a pattern of more than {MAX_DEPTH} levels")
    return kind(tuple(operand for operand, _ in operands)), levels


def _part(tokens: Sequence[_Token], place: int) -> tuple[Part, int]:
    """The part that begins at a token, and the place behind it."""
    conditions: list[Condition] = []
    variables: list[VariableRelation] = []
    while True:
        made = _predicate(tokens[place : place + 7])
        if isinstance(made, Condition):
            conditions.append(made)
        else:
            variables.append(made)
        place += 7
        if tokens[place : place + 1] != [_COMMA]:
            return Part(tuple(conditions), tuple(variables)), place
        place += 1


_COMMA = _Token("sign", ",")


def _predicate(tokens: Sequence[_Token]) -> Condition | VariableRelation:
    signs = [token.text if token.kind == "sign" else "" for token in tokens]
    if signs != ["[", "", ",", "", ",", "", "]"] or tokens[3].kind != "bare":
        raise OutsideLanguageError(f"no predicate: {' '.join(token.text for token in tokens)[:80]!r}")
    attribute, word, value = tokens[1].text, tokens[3].text, tokens[5]
    variable = _VARIABLE.fullmatch(value.text) if value.kind == "bare" else None
    if variable is None:
        return condition_of(attribute, word, _value(value))
    check_name(attribute)
    string = variable[1] == "S"
    return VariableRelation(attribute, relation_named(word, string), Variable(variable[2], string))


def _value(token: _Token) -> Value:
    text = token.text
    if token.kind == "quoted":
        return text
    if integer := _INTEGER.fullmatch(text):
        if len(integer[1]) > MAX_DIGITS:
            raise OutsideLanguageError(f"an integer of {len(integer[1])} digits")
        return int(text)
    if _DECIMAL.fullmatch(text):
        decimal = float(text)
        if not isfinite(decimal):
            raise OutsideLanguageError(f"{text[:40]} is too great for a decimal")
        return decimal
    if _WORD.match(text):
        return text
    raise OutsideLanguageError(f"{text[:40]!r} is neither a number, a word nor a variable")


def _tokens(text: str) -> Iterator[_Token]:
    place, end = 0, len(text.rstrip())
    while place < end:
        found = _TOKEN.match(text, place)
        if found is None:
            raise OutsideLanguageError(f"unreadable from {text[place : place + 40]!r} on")
        place = found.end()
        if found["sign"] is not None:
            yield _Token("sign", found["sign"])
        elif found["bare"] is not None:
            yield _Token("bare", found["bare"])
        elif found["single"] is not None:
            yield _Token("quoted", found["single"].replace("''", "'"))
        else:
            yield _Token("quoted", found["double"].replace('""', '"'))
