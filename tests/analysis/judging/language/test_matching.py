"""The judge's matching against the brokers' index, the brokers' relations and the cases written by hand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.judging.language import AdvertisementMatcher, Columns, Matcher, Value, matching
from analysis.judging.language.conditions import present
from broker_service.language import Advertisement, Operator, Predicate, Publication, Subscription
from broker_service.language.content import conforms, matches
from broker_service.language.notation import parse_advertisement, parse_publication, parse_subscription
from broker_service.matching import MatchIndex
from studies.conformance.model import Relation
from tests.analysis.judging.language.translation import conjunction_of
from tests.broker_service.language import strategies as language
from tests.broker_service.matching import strategies as hard
from tests.conformance import test_relation_cases as cases
from tests.proof import tried

Attributes = dict[str, Value]

FEW = pytest.mark.parametrize("few", [0, 2, 32])
"""Publications that are tried one by one: never, sometimes, nearly always. The other way is by rows of bits."""

small_contents = st.dictionaries(
    st.sampled_from(["x", "y"]), st.sampled_from(language.GRID) | language.short_strings, max_size=2
)
contents = hard.publications | st.builds(
    lambda kind, others: {**others, "class": kind}, language.short_strings, small_contents
)
subscriptions = hard.subscriptions | language.small_subscriptions


@st.composite
def many(draw: st.DrawFn) -> list[Attributes]:
    """Up to 150 publications, few of them different: more than fit in two words of bits."""
    few = draw(st.lists(contents, min_size=1, max_size=5))
    places = draw(st.lists(st.integers(0, len(few) - 1), min_size=1, max_size=150))
    return [few[place] for place in places]


def matched(made: Sequence[Subscription], published: Sequence[Attributes]) -> list[set[int]]:
    """Subscriptions that each publication matches by the judge."""
    found = Matcher([conjunction_of(each.predicates) for each in made]).matches(Columns(published))
    numbers = [found.of(place) for place in range(len(published))]
    assert all(len(set(each)) == len(each) for each in numbers)
    return list(map(set, numbers))


@FEW
def test_the_same_subscriptions_match_as_in_the_brokers_index(few: int) -> None:
    @settings(deadline=None, max_examples=tried(30))
    @given(st.lists(subscriptions, max_size=12), many())
    def search(made: list[Subscription], published: list[Attributes]) -> None:
        index: MatchIndex[int] = MatchIndex()
        for number, each in enumerate(made):
            index.add(number, each)
        with patch.object(matching, "_FEW", few):
            assert matched(made, published) == [set(index.match(each)) for each in published]

    search()


@FEW
def test_a_subscription_matches_by_the_written_relations(few: int) -> None:
    @settings(deadline=None, max_examples=tried(30))
    @given(st.lists(subscriptions, max_size=12), many())
    def search(made: list[Subscription], published: list[Attributes]) -> None:
        with patch.object(matching, "_FEW", few):
            found = matched(made, published)
        assert found == [
            {number for number, each in enumerate(made) if cases.meets(each.predicates, content)}
            for content in published
        ]

    search()


@settings(deadline=None, max_examples=tried(30))
@given(st.lists(language.any_subscriptions, max_size=4), st.lists(language.any_publications, min_size=1, max_size=4))
def test_any_content_is_matched_as_by_the_brokers(made: list[Subscription], published: list[Publication]) -> None:
    found = matched(made, [dict(content.attributes) for content in published])
    assert found == [{number for number, each in enumerate(made) if matches(each, content)} for content in published]


@settings(deadline=None, max_examples=300)
@given(st.lists(language.small_advertisements | language.any_advertisements, min_size=1, max_size=4), many())
def test_content_conforms_as_by_the_brokers_and_the_written_relations(
    made: list[Advertisement], published: list[Attributes]
) -> None:
    matcher = AdvertisementMatcher([conjunction_of(each.predicates) for each in made])
    conformance = matcher.conformance(Columns(published))
    for place, content in enumerate(published):
        found = [conformance.holds(place, number) for number in range(len(made))]
        assert found == [conforms(Publication(content), each) for each in made]
        assert found == [cases.conforms(each.predicates, content) for each in made]


def relations() -> Iterator[tuple[str, Relation]]:
    return ((case.id, case) for case in cases.CASES)


@pytest.mark.parametrize("case", [pytest.param(case, id=id) for id, case in relations()])
def test_the_written_cases_hold_for_samples_about_their_texts(case: Relation) -> None:
    """Each case names one publication, or two conjunctions. Values at and about theirs are tried by the judge."""
    if case.relation == "matches":
        publication = dict(parse_publication(case.right).attributes)
        assert (matched([parse_subscription(case.left)], [publication]) == [{0}]) == case.expect
        return
    right = parse_subscription(case.right)
    advertises = case.relation == "intersects" and case.left_is != "subscription"
    left = parse_advertisement(case.left).predicates if advertises else parse_subscription(case.left).predicates
    samples = list(cases.samples((*left, *right.predicates)))
    columns = Columns(samples)
    meets_right = [bool(found) for found in matched([right], samples)]
    if advertises:
        conformance = AdvertisementMatcher([conjunction_of(left)]).conformance(columns)
        meets_left = [conformance.holds(place, 0) for place in range(len(samples))]
    else:
        meets_left = [bool(found) for found in matched([Subscription(left)], samples)]
    pairs = list(zip(meets_left, meets_right, strict=True))
    if case.relation == "covers":
        assert not (case.expect and (False, True) in pairs)
    else:
        assert case.expect or (True, True) not in pairs


def _one(condition: tuple[str, Operator, Value], value: Value) -> bool:
    made = Subscription((Predicate(*condition),))
    return matched([made], [{"class": "A", condition[0]: value}]) == [{0}]


@pytest.mark.parametrize(
    ("operator", "operand", "value", "holds"),
    [
        (Operator.GREATER, 2**53, 2**53 + 1, True),
        (Operator.EQUAL, float(2**53), 2**53 + 1, False),
        (Operator.EQUAL, 2**53 + 1, float(2**53), False),
        (Operator.LESS, 2**53 + 1, float(2**53), True),
        (Operator.EQUAL, 2**64 + 1, 2**64 + 1, True),
        (Operator.NOT_EQUAL, 2**64 + 1, 2**64, True),
        (Operator.LESS_OR_EQUAL, 10**400, 1.7e308, True),
        (Operator.GREATER, -(10**400), -1.7e308, True),
        (Operator.GREATER_OR_EQUAL, 0.0, -0.0, True),
        (Operator.EQUAL, 1, 1.0, True),
        (Operator.GREATER, 0.1, 5e-324, False),
        (Operator.STRING_EQUAL, "a", "a\0", False),
        (Operator.STRING_LESS, "a\0", "a", True),
        (Operator.STRING_LESS, "\U00010000", "\uffff", True),
        (Operator.STRING_POSTFIX, "\0", "a\0", True),
        (Operator.STRING_POSTFIX, "ab", "b", False),
        (Operator.STRING_PREFIX, "", "", True),
        (Operator.STRING_CONTAINS, "\0", "a\0\0", True),
        (Operator.STRING_NOT_EQUAL, "1", 1, False),
        (Operator.NOT_EQUAL, 1, "1", False),
        (Operator.PRESENT, 7, "text", False),
        (Operator.PRESENT, 7, 10**30, True),
    ],
)
def test_an_edge_is_decided_by_the_definition(operator: Operator, operand: Value, value: Value, holds: bool) -> None:
    assert _one(("x", operator, operand), value) is holds


@pytest.mark.parametrize(
    "content",
    [
        {"x": 1},
        {"class": 1, "x": 1},
        {"class": "A", "x": 1, "y": float("nan")},
        {"class": "A", "x": 1, "y": float("inf")},
        {"class": "A", "x": 1, "y": 10**1000},
        {"class": "A", "x": 1, "": 1},
        {"class": "A", "x": 1, "y": "\ud800"},
        {"class": "A", "x": 1, **{f"a{number}": 1 for number in range(256)}},
    ],
    ids=["no class", "class is a number", "NaN", "infinity", "integer too long", "no name", "surrogate", "too many"],
)
@FEW
def test_content_outside_the_language_matches_and_conforms_to_nothing(content: Mapping[str, Value], few: int) -> None:
    columns = Columns([{"class": "A", "x": 1}, content])
    anything = (present("x", string=False),)
    with patch.object(matching, "_FEW", few):
        found = Matcher([anything, ()]).matches(columns)
    assert [set(found.of(place)) for place in range(2)] == [{0, 1}, set()]
    names = conjunction_of([Predicate(name, Operator.PRESENT, "") for name in content if name])
    assert not AdvertisementMatcher([names]).conformance(columns).holds(1, 0)


def test_conjunctions_that_differ_in_kind_alone_are_two() -> None:
    made = [Subscription((Predicate("x", Operator.PRESENT, sample),)) for sample in ("", 0)]
    assert matched(made, [{"class": "A", "x": "s"}, {"class": "A", "x": 3}]) == [{0}, {1}]


@FEW
def test_a_publication_without_the_attribute_does_not_differ_from_an_operand(few: int) -> None:
    """The other condition is the rarer one, so that the publication without `x` is tried."""
    made = Subscription((Predicate("y", Operator.EQUAL, 1), Predicate("x", Operator.NOT_EQUAL, 5)))
    published: list[Attributes] = [
        {"class": "A", "y": 1},
        {"class": "A", "x": 1},
        {"class": "A", "x": "5", "y": 1},
        {"class": "A", "x": 4, "y": 1},
        *({"class": "A", "x": 5.0} for _ in range(70)),
        {"class": "A", "x": 5.0, "y": 1},
    ]
    with patch.object(matching, "_FEW", few):
        assert [place for place, found in enumerate(matched([made], published)) if found] == [3]
