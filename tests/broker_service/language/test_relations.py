"""The relations, against all publications that can be told apart."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given, settings

from broker_service.language import Advertisement, Operator, Predicate, Publication, Subscription, Value
from broker_service.language.content import conforms, holds, matches
from broker_service.language.notation import parse_advertisement, parse_publication, parse_subscription
from broker_service.language.relations import covers, intersects, overlaps, satisfiable
from tests.broker_service.language.strategies import GRID, small_advertisements, small_subscriptions, unhurried

STRINGS = ["".join(letters) for length in range(5) for letters in itertools.product("\0`abc", repeat=length)]


def _distinct(attribute: str, predicates: Sequence[Predicate]) -> list[Value]:
    """One value for each way in which the predicates on an attribute can turn out."""
    found: dict[tuple[bool, ...], Value] = {}
    own = [predicate for predicate in predicates if predicate.attribute == attribute]
    values: list[Value] = [*STRINGS] if attribute == "class" else [*STRINGS, *GRID]
    for value in values:
        found.setdefault(tuple(holds(predicate, value) for predicate in own), value)
    return list(found.values())


def _publications(*predicates: Predicate) -> Iterator[Publication]:
    """A publication of every kind that the predicates can tell apart, attributes missing included."""
    domains = [[(name, value) for value in _distinct(name, predicates)] for name in ("class", "x", "y")]
    optional = [[None, *domain] for domain in domains[1:]]
    for choice in itertools.product(domains[0], *optional):
        yield Publication(dict(pair for pair in choice if pair))


@settings(unhurried, max_examples=250)
@given(small_subscriptions, small_subscriptions)
def test_covers_and_overlaps_equal_enumeration(one: Subscription, other: Subscription) -> None:
    publications = list(_publications(*one.predicates, *other.predicates))
    assert covers(one, other) == all(matches(one, p) for p in publications if matches(other, p))
    assert overlaps(one, other) == any(matches(one, p) and matches(other, p) for p in publications)
    assert satisfiable(one) == any(matches(one, p) for p in publications)


@settings(unhurried, max_examples=250)
@given(small_advertisements, small_subscriptions)
def test_intersects_equals_enumeration(advertisement: Advertisement, subscription: Subscription) -> None:
    publications = _publications(*advertisement.predicates, *subscription.predicates)
    expected = any(conforms(p, advertisement) and matches(subscription, p) for p in publications)
    assert intersects(advertisement, subscription) == expected


@pytest.mark.parametrize(
    ("subscription", "publication", "expected"),
    [
        ("[class,eq,'STOCK'],[price,>,80]", "[class,'STOCK'],[price,100.5]", True),
        ("[class,eq,'STOCK'],[price,>,80]", "[class,'STOCK'],[price,80]", False),
        ("[class,eq,'STOCK'],[price,=,100]", "[class,'STOCK'],[price,100.0]", True),
        ("[price,>,80],[price,<,90]", "[class,'STOCK'],[price,85]", True),
        ("[price,>,80],[price,<,90]", "[class,'STOCK'],[price,95]", False),
        ("[price,<>,80]", "[class,'STOCK']", False),
        ("[symbol,neq,'A']", "[class,'STOCK']", False),
        ("[price,<>,80]", "[class,'STOCK'],[price,'80']", False),
        ("[price,neq,'80']", "[class,'STOCK'],[price,80]", False),
        ("[price,isPresent,1]", "[class,'STOCK'],[price,7.5]", True),
        ("[price,isPresent,1]", "[class,'STOCK'],[price,'7.5']", False),
        ("[symbol,str-lt,'b']", "[class,'S'],[symbol,'B']", True),
        ("[symbol,str-le,'b']", "[class,'S'],[symbol,'b']", True),
        ("[symbol,str-gt,'b']", "[class,'S'],[symbol,'b']", False),
        ("[symbol,str-ge,'b']", "[class,'S'],[symbol,'ä']", True),
        ("[symbol,str-gt,'\uffff']", "[class,'S'],[symbol,'\U00010000']", True),
        ("[symbol,str-prefix,'DE']", "[class,'S'],[symbol,'DELL']", True),
        ("[symbol,str-postfix,'LL']", "[class,'S'],[symbol,'DELL']", True),
        ("[symbol,str-contains,'EL']", "[class,'S'],[symbol,'DELL']", True),
        ("[symbol,str-contains,'LE']", "[class,'S'],[symbol,'DELL']", False),
    ],
)
def test_matches(subscription: str, publication: str, expected: bool) -> None:
    assert matches(parse_subscription(subscription), parse_publication(publication)) is expected


@pytest.mark.parametrize(
    ("general", "special", "expected"),
    [
        ("[class,eq,'STOCK'],[price,>,80]", "[class,eq,'STOCK'],[price,>,90]", True),
        ("[class,eq,'STOCK'],[price,>,90]", "[class,eq,'STOCK'],[price,>,80]", False),
        ("[class,eq,'STOCK']", "[class,eq,'STOCK'],[price,>,80]", True),
        ("[class,eq,'STOCK'],[price,>,80]", "[class,eq,'STOCK']", False),
        ("[price,>=,1],[price,<=,1]", "[price,=,1.0]", True),
        ("[price,=,1]", "[price,>=,1],[price,<=,1]", True),
        ("[price,<>,5]", "[price,>,5]", True),
        ("[price,isPresent,0]", "[price,<>,5]", True),
        ("[price,isPresent,'']", "[price,<>,5]", False),
        ("[class,isPresent,'']", "[price,<>,5]", True),
        ("[price,>,1]", "[symbol,str-lt,'']", True),
        ("[price,>,1]", "[symbol,eq,'A'],[symbol,eq,'B']", True),
        ("[price,>,1]", "[symbol,eq,'A'],[symbol,=,1]", True),
        ("[symbol,str-prefix,'a']", "[symbol,str-ge,'a'],[symbol,str-lt,'b']", True),
    ],
)
def test_covers(general: str, special: str, expected: bool) -> None:
    assert covers(parse_subscription(general), parse_subscription(special)) is expected


@pytest.mark.parametrize(
    ("advertisement", "subscription", "expected"),
    [
        ("[class,eq,'STOCK'],[price,>,80]", "[class,eq,'STOCK'],[price,<,90]", True),
        ("[class,eq,'STOCK'],[price,>,80]", "[class,eq,'STOCK'],[price,<,80]", False),
        ("[class,eq,'STOCK'],[price,>,80]", "[class,eq,'STOCK']", True),
        ("[class,eq,'STOCK'],[price,>,80]", "[price,=,81]", True),
        ("[class,eq,'STOCK']", "[class,eq,'STOCK'],[price,>,80]", False),
        ("[class,eq,'STOCK'],[price,>,80]", "[class,eq,'BOND']", False),
        ("[class,eq,'STOCK'],[price,>,80],[price,<,90]", "[price,>=,90]", False),
        ("[class,eq,'STOCK'],[price,>,80]", "[price,eq,'81']", False),
        # An attribute whose predicates contradict each other can still be missing; class cannot.
        ("[class,eq,'STOCK'],[price,>,9],[price,<,8]", "[class,eq,'STOCK']", True),
        ("[class,eq,'STOCK'],[class,eq,'BOND'],[price,>,8]", "[price,>,8]", False),
        ("[class,=,5],[price,>,8]", "[price,>,8]", False),
    ],
)
def test_intersects(advertisement: str, subscription: str, expected: bool) -> None:
    assert intersects(parse_advertisement(advertisement), parse_subscription(subscription)) is expected


def test_the_two_readings_of_intersects_differ() -> None:
    left, right = "[class,eq,'STOCK']", "[class,eq,'STOCK'],[price,>,80]"
    assert not intersects(parse_advertisement(left), parse_subscription(right))
    assert overlaps(parse_subscription(left), parse_subscription(right))


@pytest.mark.parametrize(
    ("publication", "expected"),
    [
        ("[class,'STOCK'],[price,81],[symbol,'A']", True),
        ("[class,'STOCK']", True),
        ("[class,'STOCK'],[price,80]", False),
        ("[class,'STOCK'],[price,95]", False),
        ("[class,'STOCK'],[price,81],[volume,1]", False),
        ("[class,'BOND'],[price,81]", False),
        ("[class,'STOCK'],[price,'81']", False),
        ("[class,'STOCK'],[symbol,5]", False),
    ],
)
def test_conforms(publication: str, expected: bool) -> None:
    advertisement = parse_advertisement("[class,eq,'STOCK'],[price,>,80],[price,<,90],[symbol,isPresent,'X']")
    assert conforms(parse_publication(publication), advertisement) is expected


def test_every_operator_has_a_test() -> None:
    for operator in Operator:
        value: Value = "a" if operator.name.startswith("STRING") else 1
        assert isinstance(holds(Predicate("x", operator, value), value), bool)
