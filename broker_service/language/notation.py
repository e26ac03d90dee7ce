"""The PADRES notation, read: publications, subscriptions, advertisements and composite subscriptions.

    publication                 [class,'STOCK'],[price,100.5]
    subscription, advertisement [class,eq,'STOCK'],[price,>,80],[price,<=,90]
    composite subscription      {{[class,eq,'A'],[x,eq,$S$X]}&{[class,eq,'B'],[y,eq,$S$X]}} || ([class,eq,'C'])

Decisions where the notation leaves something open:

- A string stands in single or double quotes and holds any character; the quote it stands in is written twice. A
  backslash is a character like any other. As in PADRES, a word that begins with a letter, `_`, `:` or `/` needs no
  quotes.
- A number is written in decimal, with an exponent if need be; without a point and exponent it is an integer.
- An attribute's name is any run of characters but white space and `[](){},'"&|`; in quotes, anything. The operator is
  never quoted. `eq` and `neq` serve numbers too (as `=` and `<>`); no other operator serves both types.
- The value after `isPresent` only shows the type.
- White space is free between tokens.
- `&` (also `&&`) binds tighter than `||`; braces and parentheses group alike, and may be missing around one
  conjunction.
- A variable is `$S$name` for a string, `$I$name` or `$F$name` for a number, and only stands in a composite
  subscription; in quotes it is a string.

Mistakes raise `NotationError`, which names the position. Texts have at most `MAX_LENGTH` code points, and parsing does
not recurse, so that no text can exhaust the stack. Brokers do not import this module, because it loads the parser
generator.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cache
from importlib import resources
from math import isfinite
from typing import Any, TypeVar

from lark import Lark, Token, Transformer
from lark.exceptions import UnexpectedInput, UnexpectedToken

from broker_service.language.composite import (
    And,
    Atomic,
    Composite,
    Or,
    Variable,
    VariablePredicate,
    VariableType,
)
from broker_service.language.content import Publication
from broker_service.language.formatting import (
    format_advertisement,
    format_composite,
    format_publication,
    format_subscription,
)
from broker_service.language.model import (
    CLASS,
    MAX_INTEGER_DIGITS,
    Advertisement,
    ContentError,
    Predicate,
    Subscription,
    Value,
    check_name,
    operator_named,
    shortened,
)

__all__ = [
    "MAX_LENGTH",
    "NotationError",
    "format_advertisement",
    "format_composite",
    "format_publication",
    "format_subscription",
    "parse_advertisement",
    "parse_composite",
    "parse_publication",
    "parse_subscription",
]

MAX_LENGTH = 65_536
"""Code points of a text."""

T = TypeVar("T")

_EXAMPLES = {
    "publication": "a publication is written like [class,'STOCK'],[price,100.5]",
    "subscription": "a subscription is written like [class,eq,'STOCK'],[price,>,80]",
    "advertisement": "an advertisement is written like [class,eq,'STOCK'],[price,>,0]",
    "composite": "a composite subscription is written like {{[class,eq,'A']}&{[class,eq,'B']}}",
}

_SIGNS = {
    "LSQB": "[",
    "RSQB": "]",
    "COMMA": ",",
    "LBRACE": "{",
    "RBRACE": "}",
    "LPAR": "(",
    "RPAR": ")",
    "AND": "&",
    "OR": "||",
}

_NUMBER = re.compile(r"[+-]?(?:(?P<integer>[0-9]+)|(?:[0-9]+\.[0-9]*|\.?[0-9]+)(?:[eE][+-]?[0-9]+)?)")
_WORD = re.compile(r"[^\W\d]|[:/]")
_VARIABLE = re.compile(r"\$(?P<type>[SIF])\$(?P<name>[^$]+)")


class NotationError(ContentError):
    """Text that is not in the notation, or breaks a rule of the content model.

    `line` and `column` count from 1, columns in code points. `expected` is what could have stood there, where the
    trouble is one of grammar. `remedy` describes what to write.
    """

    def __init__(self, trouble: str, line: int, column: int, remedy: str, expected: tuple[str, ...] = ()) -> None:
        super().__init__(f"line {line}, column {column}: {trouble}", remedy)
        self.line = line
        self.column = column
        self.expected = expected


def parse_publication(text: str) -> Publication:
    """The publication a text describes. Raises `NotationError`."""
    publication: Publication = _parse("publication", text)
    return publication


def parse_subscription(text: str) -> Subscription:
    """The subscription a text describes. Raises `NotationError`."""
    subscription: Subscription = _parse("subscription", text)
    return subscription


def parse_advertisement(text: str) -> Advertisement:
    """The advertisement a text describes. Raises `NotationError`."""
    advertisement: Advertisement = _parse("advertisement", text)
    return advertisement


def parse_composite(text: str) -> Composite:
    """The composite subscription a text describes, an `Atomic` for one conjunction. Raises `NotationError`."""
    composite: Composite = _parse("composite", text)
    return composite


def _parse(start: str, text: str) -> Any:
    if len(text) > MAX_LENGTH:
        raise NotationError(f"the text has {len(text)} characters", 1, 1, f"a {start} takes at most {MAX_LENGTH}")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        line, column = _place(text, error.start)
        raise NotationError("a lone surrogate is not a character", line, column, "write valid Unicode") from None
    try:
        return _parser(start).parse(text)
    except UnexpectedInput as error:
        raise _grammar_error(start, text, error) from None


@cache
def _parser(start: str) -> Lark:
    """One parser for each kind of text, so that errors name only what can stand in that kind."""
    grammar = resources.files("broker_service.language").joinpath("notation.lark").read_text(encoding="utf-8")
    return Lark(grammar, parser="lalr", lexer="basic", start=start, transformer=_Builder())


class _Builder(Transformer[Token, Any]):
    """Makes content of the grammar's rules while they are recognised, innermost first."""

    def pair(self, tokens: list[Token]) -> tuple[Token, str, Value]:
        name, value = tokens
        return name, _name(name), _value(value)

    def publication(self, pairs: list[tuple[Token, str, Value]]) -> Publication:
        attributes = {name: value for _, name, value in pairs}
        if len(attributes) < len(pairs):
            raise _repetition(pairs)
        place = next((token for token, name, _ in pairs if name == CLASS), pairs[0][0])
        return _at(place, Publication, attributes)

    def predicate(self, tokens: list[Token]) -> list[Token]:
        return tokens

    def subscription(self, predicates: list[list[Token]]) -> Subscription:
        return _at(predicates[0][0], Subscription, tuple(_predicate(*tokens) for tokens in predicates))

    def advertisement(self, predicates: list[list[Token]]) -> Advertisement:
        return _at(predicates[0][0], Advertisement, tuple(_predicate(*tokens) for tokens in predicates))

    def atomic(self, predicates: list[list[Token]]) -> Atomic:
        return _at(predicates[0][0], Atomic, tuple(_open_predicate(*tokens) for tokens in predicates))

    def conjunct(self, children: list[Any]) -> Composite:
        return _chain(And, children)

    def composite(self, children: list[Any]) -> Composite:
        return _chain(Or, children)


def _chain(node: Callable[[tuple[Composite, ...]], Composite], children: list[Any]) -> Composite:
    """The expression of operands with the signs between them; a single operand stays itself."""
    if len(children) == 1:
        only: Composite = children[0]
        return only
    return _at(children[1], node, tuple(children[::2]))


def _predicate(name: Token, operator: Token, value: Token) -> Predicate:
    attribute = _name(name)
    operand = _value(value)
    return _at(value, Predicate, attribute, _at(operator, operator_named, operator.value, operand), operand)


def _open_predicate(name: Token, operator: Token, value: Token) -> Predicate | VariablePredicate:
    variable = None if value.type == "QUOTED" else _VARIABLE.fullmatch(value)
    if variable is None:
        return _predicate(name, operator, value)
    kind = VariableType.STRING if variable["type"] == "S" else VariableType.NUMBER
    named = _at(operator, operator_named, operator.value, kind.sample)
    return _at(value, VariablePredicate, _name(name), named, _at(value, Variable, kind, variable["name"]))


def _name(token: Token) -> str:
    name = _text(token)
    _at(token, check_name, name)
    return name


def _text(token: Token) -> str:
    text: str = token.value
    if token.type != "QUOTED":
        return text
    quote = text[0]
    return text[1:-1].replace(quote + quote, quote)


def _value(token: Token) -> Value:
    if token.type == "QUOTED":
        return _text(token)
    text: str = token.value
    if number := _NUMBER.fullmatch(text):
        return _number(token, text, number["integer"])
    if _WORD.match(text):
        return text
    if text.startswith("$"):
        raise _error(
            token, f"{shortened(text)} is no value here", "variables stand in composite subscriptions; quote a string"
        )
    raise _error(token, f"{shortened(text)} is neither a number nor a word", "put text in quotes")


def _number(token: Token, text: str, integer: str | None) -> int | float:
    if integer is None:
        decimal = float(text)
        if not isfinite(decimal):
            raise _error(token, f"{shortened(text)} is too great for a decimal", "write a number below 1.8e308")
        return decimal
    if len(integer) > MAX_INTEGER_DIGITS:
        raise _error(token, f"an integer of {len(integer)} digits", f"it takes at most {MAX_INTEGER_DIGITS}")
    return int(text)


def _at(token: Token, make: Callable[..., T], *arguments: object) -> T:
    """The result of `make`; mistakes in its arguments are reported at this token."""
    try:
        return make(*arguments)
    except ContentError as error:
        raise _error(token, error.trouble, error.remedy) from None


def _error(token: Token, trouble: str, remedy: str) -> NotationError:
    return NotationError(trouble, token.line or 1, token.column or 1, remedy)


def _repetition(pairs: list[tuple[Token, str, Value]]) -> NotationError:
    seen: set[str] = set()
    for token, name, _ in pairs:
        if name in seen:
            return _error(token, f"attribute {name!r} occurs a second time", "give each attribute one value")
        seen.add(name)
    raise AssertionError("called without a repetition")


def _grammar_error(start: str, text: str, error: UnexpectedInput) -> NotationError:
    remedy = _EXAMPLES[start]
    if isinstance(error, UnexpectedToken):
        expected = _expected(error.expected)
        wanted = " or ".join(expected)
        if error.token.type != "$END":
            found = shortened(error.token.value)
            return NotationError(f"expected {wanted}, found {found}", error.line, error.column, remedy, expected)
        line, column = _place(text, len(text))
        return NotationError(f"expected {wanted}, found the end of the text", line, column, remedy, expected)
    character = text[error.pos_in_stream or 0]
    if character in "'\"":
        trouble = f"the string that begins here has no closing {character}"
        remedy = f"a {character} within a string is written twice"
    else:
        trouble = f"unexpected {character!r}"
    return NotationError(trouble, error.line, error.column, remedy)


def _expected(terminals: Iterable[str]) -> tuple[str, ...]:
    """Terminals in the reader's words."""
    left = set(terminals)
    words = ["a name or a value"] if "QUOTED" in left else ["an operator"] if "BARE" in left else []
    words += [repr(sign) for terminal, sign in _SIGNS.items() if terminal in left]
    return (*words, "the end of the text") if "$END" in left else tuple(words)


def _place(text: str, index: int) -> tuple[int, int]:
    """The line and the column of an index, from 1."""
    return text.count("\n", 0, index) + 1, index - (text.rfind("\n", 0, index) + 1) + 1
