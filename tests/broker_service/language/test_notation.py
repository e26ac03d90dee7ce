"""The notation: what it means, where its errors point, and that formatting is its inverse."""

from __future__ import annotations

import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_service.language import Advertisement, ContentError, Operator, Predicate, Publication, Subscription, Value
from broker_service.language.composite import And, Atomic, Composite, Or, Variable, VariablePredicate, VariableType
from broker_service.language.notation import (
    MAX_LENGTH,
    NotationError,
    format_advertisement,
    format_composite,
    format_publication,
    format_subscription,
    parse_advertisement,
    parse_composite,
    parse_publication,
    parse_subscription,
)
from tests.broker_service.language.strategies import (
    any_advertisements,
    any_publications,
    any_subscriptions,
    composites,
    unhurried,
)

A = Atomic((Predicate("class", Operator.STRING_EQUAL, "A"),))
B = Atomic((Predicate("class", Operator.STRING_EQUAL, "B"),))
C = Atomic((Predicate("class", Operator.STRING_EQUAL, "C"),))


def test_the_notation_of_padres() -> None:
    assert parse_subscription("[class,eq,'STOCK'],[price,>,80]") == Subscription(
        (Predicate("class", Operator.STRING_EQUAL, "STOCK"), Predicate("price", Operator.GREATER, 80))
    )
    assert parse_publication("[class,'STOCK'],[price,100.5]") == Publication({"class": "STOCK", "price": 100.5})
    assert parse_advertisement("[class,eq,'STOCK'],[price,isPresent,0]") == Advertisement(
        (Predicate("class", Operator.STRING_EQUAL, "STOCK"), Predicate("price", Operator.PRESENT, 0))
    )


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("5", 5),
        ("-5", -5),
        ("+5", 5),
        ("007", 7),
        ("5.0", 5.0),
        (".5", 0.5),
        ("5.", 5.0),
        ("-0.0", -0.0),
        ("1e3", 1000.0),
        ("1.5E-7", 1.5e-7),
        ("123456789012345678901234567890", 123456789012345678901234567890),
        ("STOCK", "STOCK"),
        ("Müller-2", "Müller-2"),
        ("nan", "nan"),
        ("''", ""),
        ("'it''s'", "it's"),
        ('"it\'s"', "it's"),
        ('"say ""hi"""', 'say "hi"'),
        ("'a\\'", "a\\"),
        ("'],[x,<,1'", "],[x,<,1"),
        ("'two\nlines\0'", "two\nlines\0"),
        ("'$S$X'", "$S$X"),
        ("'5'", "5"),
    ],
)
def test_values(text: str, value: Value) -> None:
    parsed = parse_publication(f"[class,C],[x,{text}]").attributes["x"]
    assert repr(parsed) == repr(value)


@pytest.mark.parametrize("name", ["x", "52week", "a-b", "a.b/c:d", "größe", "$x", "<", "'a b'", '"a,b"'])
def test_names_are_liberal(name: str) -> None:
    assert parse_subscription(f"[{name},=,1]").predicates[0].attribute == name.strip("'\"")


@pytest.mark.parametrize(
    ("written", "operator", "value"),
    [(operator.value, operator, "'v'" if operator.name.startswith("STRING") else "1") for operator in Operator]
    + [("isPresent", Operator.PRESENT, "'v'"), ("eq", Operator.EQUAL, "1"), ("neq", Operator.NOT_EQUAL, "1.5")],
)
def test_operators(written: str, operator: Operator, value: str) -> None:
    for text in (f"[x,{written},{value}]", f" [ x\t,\n{written} , {value} ] "):
        assert parse_subscription(text).predicates[0].operator is operator


@pytest.mark.parametrize(
    ("text", "composite"),
    [
        ("[class,eq,A]", A),
        ("{[class,eq,A]}", A),
        ("(({[class,eq,A]}))", A),
        ("{{[class,eq,A]}&{[class,eq,B]}}", And((A, B))),
        ("{[class,eq,A]}&&{[class,eq,B]}", And((A, B))),
        ("[class,eq,A]&[class,eq,B]&[class,eq,C]", And((A, B, C))),
        ("[class,eq,A]||[class,eq,B]&[class,eq,C]", Or((A, And((B, C))))),
        ("[class,eq,A]&[class,eq,B]||[class,eq,C]", Or((And((A, B)), C))),
        ("({[class,eq,A]} || {[class,eq,B]}) & {[class,eq,C]}", And((Or((A, B)), C))),
        ("{{{[class,eq,A]}&{[class,eq,B]}}&{[class,eq,C]}}", And((And((A, B)), C))),
        (
            "[class,eq,$S$X],[n,>,$I$Y_1],[m,isPresent,$F$Z]",
            Atomic(
                (
                    VariablePredicate("class", Operator.STRING_EQUAL, Variable(VariableType.STRING, "X")),
                    VariablePredicate("n", Operator.GREATER, Variable(VariableType.NUMBER, "Y_1")),
                    VariablePredicate("m", Operator.PRESENT, Variable(VariableType.NUMBER, "Z")),
                )
            ),
        ),
    ],
)
def test_composites(text: str, composite: Composite) -> None:
    assert parse_composite(text) == composite


Parse = Callable[[str], object]


@pytest.mark.parametrize(
    ("parse", "text", "line", "column", "message"),
    [
        (parse_subscription, "", 1, 1, "expected '[', found the end of the text; a subscription is written like"),
        (parse_subscription, "[class,eq,'A'", 1, 14, "expected ']', found the end of the text; a subscription"),
        (parse_subscription, "[class,eq,'A'] [x,<,5]", 1, 16, "expected ',' or the end of the text, found '['"),
        (parse_subscription, "[class,eq,'A'],\n [x,5]", 2, 6, "expected ',', found ']'"),
        (parse_subscription, "[x,'<',5]", 1, 4, "expected an operator"),
        (parse_subscription, "[,<,5]", 1, 2, "expected a name or a value, found ','"),
        (parse_subscription, "['',<,5]", 1, 2, "name of 0 characters"),
        (parse_subscription, "[class,eq,'A],[x,<,5]", 1, 11, "has no closing '; a ' within a string is written twice"),
        (parse_subscription, "[x,<,'5']", 1, 4, "'<' does not go with a string; use one of: eq neq"),
        (parse_subscription, "[x,str-lt,5]", 1, 4, "'str-lt' does not go with a number; use one of: ="),
        (parse_subscription, "[x,like,'5']", 1, 4, "'like' is not an operator"),
        (parse_subscription, "[x,=,21-Dec-04]", 1, 6, "neither a number nor a word; put text in quotes"),
        (parse_subscription, "[x,=,1e999]", 1, 6, "too great for a decimal"),
        (parse_subscription, "[x,=," + "9" * 1001 + "]", 1, 6, "1001 digits"),
        (parse_subscription, "[x,eq,$S$X]", 1, 7, "variables stand in composite subscriptions"),
        (parse_subscription, "[x,eq,'" + "x" * 4097 + "']", 1, 7, "at most 4096"),
        (parse_subscription, "[x,eq,'\ud800']", 1, 8, "lone surrogate"),
        (parse_advertisement, "[x,<,5]", 1, 2, "must name the attribute 'class'"),
        (parse_publication, "[x,5]", 1, 2, "must carry the attribute 'class'"),
        (parse_publication, "[x,5],[class,7]", 1, 8, "must be a string, not 7"),
        (parse_publication, "[class,A],[x,5],\n[x,6]", 2, 2, "'x' occurs a second time"),
        (parse_publication, "[class,A],[x,>,5]", 1, 15, "expected ']', found ','; a publication is written like"),
        (parse_publication, "[class,A];", 1, 10, "found ';'"),
        (parse_publication, "x" * (MAX_LENGTH + 1), 1, 1, "at most 65536"),
        (parse_composite, "{[x,<,5]}|{[x,>,6]}", 1, 10, "unexpected '|'"),
        (parse_composite, "{[x,<,5]}&", 1, 11, "expected '[' or '{' or '(', found the end"),
        (parse_composite, "{[x,<,5]&[y,<,5])", 1, 17, "found ')'"),
        (parse_composite, "[x,<,$I$1]", 1, 6, "'1' cannot name a variable"),
        (parse_composite, "[x,<,$S$X]", 1, 4, "'<' does not go with a string"),
        (parse_composite, "(" * 60_000, 1, 60_001, "found the end of the text"),
        (parse_composite, "([x,<,5]&[x,<,5]||" * 40 + "[x,<,5]" + ")" * 40, 1, 179, "nested deeper than 32 levels"),
    ],
)
def test_errors_say_where(parse: Parse, text: str, line: int, column: int, message: str) -> None:
    with pytest.raises(NotationError) as caught:
        parse(text)
    assert (caught.value.line, caught.value.column) == (line, column), str(caught.value)
    assert message in str(caught.value)
    assert str(caught.value).startswith(f"line {line}, column {column}: ")
    assert caught.value.remedy
    assert len(str(caught.value)) < 400


def test_what_was_expected() -> None:
    with pytest.raises(NotationError) as caught:
        parse_subscription("[class,eq,'A'] [x,<,5]")
    assert caught.value.expected == ("','", "the end of the text")


def test_redundant_parentheses_are_free() -> None:
    assert parse_composite("(" * 30_000 + "[class,eq,A]" + ")" * 30_000) == A


@unhurried
@given(any_publications)
def test_publications_round_trip(publication: Publication) -> None:
    returned = parse_publication(format_publication(publication))
    assert list(map(repr, returned.attributes.items())) == list(map(repr, publication.attributes.items()))


@unhurried
@given(any_subscriptions)
def test_subscriptions_round_trip(subscription: Subscription) -> None:
    assert repr(parse_subscription(format_subscription(subscription))) == repr(subscription)


@unhurried
@given(any_advertisements)
def test_advertisements_round_trip(advertisement: Advertisement) -> None:
    assert repr(parse_advertisement(format_advertisement(advertisement))) == repr(advertisement)


@unhurried
@given(composites)
def test_composites_round_trip(composite: Composite) -> None:
    assert repr(parse_composite(format_composite(composite))) == repr(composite)


@unhurried
@given(st.text("[](){},'\"&|<>=-$SIclass01.e \n", max_size=30))
def test_any_text_parses_or_is_refused(text: str) -> None:
    for parse in (parse_publication, parse_subscription, parse_advertisement, parse_composite):
        try:
            parse(text)
        except ContentError as error:
            assert isinstance(error, NotationError)
            assert 1 <= error.line <= text.count("\n") + 1


def test_brokers_do_not_load_the_parser_generator() -> None:
    modules = "broker_service.language, broker_service.language.content, broker_service.language.relations"
    program = f"import sys, {modules}, broker_service.language.formatting; sys.exit('lark' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False, timeout=60).returncode == 0


QUOTES = Path(__file__).parents[4] / "shared/data/stockquotes.tar.gz"


@pytest.mark.skipif(not QUOTES.exists(), reason="real quotes (stockquotes.tar.gz) are not here")
def test_real_quotes_parse_and_return() -> None:
    lines: list[str] = []
    with tarfile.open(QUOTES) as archive:
        for member in sorted((member for member in archive if member.isfile()), key=lambda member: member.size)[:3]:
            content = archive.extractfile(member)
            assert content is not None
            lines += content.read().decode().splitlines()
    assert lines
    for line in lines:
        publication = parse_publication(line)
        assert set(publication.attributes) == {"class", "symbol", "open", "high", "low", "close", "volume", "date"}
        assert parse_publication(format_publication(publication)) == publication
        unequal = [
            (written, again)
            for written, again in zip(line.split(","), format_publication(publication).split(","), strict=True)
            if written != again and float(written.rstrip("]")) != float(again.rstrip("]"))
        ]
        assert not unequal
