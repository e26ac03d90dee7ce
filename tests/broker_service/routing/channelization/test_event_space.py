"""Cells: a publication is in exactly one, and a subscription has the cell of every publication that it matches."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_service.language import Operator, Predicate, Publication, Subscription
from broker_service.language.content import matches
from broker_service.language.model import NUMBER_OPERATORS, STRING_OPERATORS
from broker_service.routing.channelization import event_space as module
from broker_service.routing.channelization.event_space import EventSpace, event_space

NUMBERS = st.one_of(st.integers(-3, 6), st.sampled_from([0.5, 1.5, 2**70, -(2**70), 1e300]))
STRINGS = st.text("ab", max_size=3)


@st.composite
def predicates(draw: st.DrawFn) -> Predicate:
    attribute = draw(st.sampled_from(["v", "v", "v", "w"]))
    if draw(st.booleans()):
        return Predicate(attribute, draw(st.sampled_from(sorted(NUMBER_OPERATORS, key=str))), draw(NUMBERS))
    return Predicate(attribute, draw(st.sampled_from(sorted(STRING_OPERATORS, key=str))), draw(STRINGS))


SUBSCRIPTIONS = st.lists(predicates(), min_size=1, max_size=3).map(lambda found: Subscription(tuple(found)))
PUBLICATIONS = st.builds(
    lambda values: Publication({"class": "E", **values}),
    st.dictionaries(st.sampled_from(["v", "w"]), st.one_of(NUMBERS, STRINGS)),
)


@given(st.lists(SUBSCRIPTIONS), SUBSCRIPTIONS, PUBLICATIONS)
def test_a_subscription_has_the_cell_of_every_publication_it_matches(
    known: list[Subscription], subscription: Subscription, publication: Publication
) -> None:
    """Holds for subscriptions from which the space was made, and for others."""
    space = event_space(known, "v")
    cell = space.cell_of(publication.attributes)
    assert 0 <= cell < len(space)
    for wanted in (*known, subscription):
        cells = space.cells_of(wanted)
        assert all(0 <= found < len(space) for found in cells)
        if matches(wanted, publication):
            assert cell in cells


@given(st.lists(SUBSCRIPTIONS, min_size=1), PUBLICATIONS)
def test_a_subscription_wants_all_of_a_cell_or_nothing_but_for_the_rest(
    known: list[Subscription], publication: Publication
) -> None:
    """Holds for the attribute of the space, which is cut at every number and string that is named, except the
    largest."""
    space = event_space(known, "v")
    cell = space.cell_of(publication.attributes)
    for wanted in known:
        own = tuple(predicate for predicate in wanted.predicates if predicate.attribute == "v")
        plain = all(not isinstance(predicate.value, int) or abs(predicate.value) < 2**63 for predicate in own)
        if cell and own and plain and cell in space.cells_of(wanted):
            assert matches(Subscription(own), publication)


def test_the_attribute_with_most_values_is_chosen() -> None:
    found = event_space(
        Subscription((Predicate("a", Operator.EQUAL, 1), Predicate("b", Operator.EQUAL, number))) for number in range(3)
    )
    assert found == EventSpace("b", (0, 1, 2))


def test_an_interval_without_an_integer_is_expected_to_be_empty() -> None:
    assert EventSpace("v", (1, 2, 5)).weights.tolist() == [1, 1, 1, 0, 1, 1, 1, 1]
    assert EventSpace("v", (1, 1.5)).weights.all()


def test_too_many_values_are_refused_by_the_name_of_the_attribute(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_VALUES", 2)
    every = [Subscription((Predicate("v", Operator.EQUAL, number),)) for number in range(3)]
    with pytest.raises(ValueError, match=r"3 values of 'v'.*routing\.attribute"):
        event_space(every)
