from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from analysis.judging.histories.history import History
from analysis.judging.rights.declared import Declared
from analysis.judging.rights.interests import Interests, interests_of
from analysis.reading.lifetimes import lifetimes
from broker_service.language import Operator, Predicate, Publication, Subscription
from broker_service.language.content import matches
from record.digests import encode_content
from record.log import Event
from tests.analysis.history import OVERLAY
from tests.analysis.judging.language.translation import conjunction_of
from tests.analysis.judging.test_oracle_content import confirmed, conjunctions, contents

CHEAP = (Predicate("a", Operator.LESS, 1), Predicate("class", Operator.PRESENT, ""))
COSTLY = (Predicate("a", Operator.GREATER, 9),)


def _encoded(attributes: dict[str, int | float | str]) -> bytes:
    numbers = {name: value for name, value in attributes.items() if not isinstance(value, str)}
    return encode_content(numbers, {name: value for name, value in attributes.items() if isinstance(value, str)})


def _interests(subscriptions: Sequence[tuple[Predicate, ...]]) -> Interests:
    return Interests(Declared(tuple(map(conjunction_of, subscriptions)), (), ()))


@given(
    st.lists(conjunctions, max_size=6),
    st.lists(contents, min_size=1, max_size=6),
    st.lists(contents, max_size=6),
    st.integers(1, 3),
)
def test_any_sequence_of_contents_is_read_whatever_was_expected(
    subscriptions: list[tuple[Predicate, ...]],
    published: list[dict[str, int | float | str]],
    others: list[dict[str, int | float | str]],
    chunk: int,
) -> None:
    interests = _interests(subscriptions)
    interests.chunk = chunk
    interests.expect(map(_encoded, [*published[1:], *others, *published]))
    for attributes in [content for content in published for _ in range(2)]:
        read = interests.read(_encoded(attributes))
        content = Publication(attributes)
        assert read.attributes == attributes
        expected = {
            interests.number_of(conjunction_of(made)) for made in subscriptions if matches(Subscription(made), content)
        }
        assert sorted(read.interests) == sorted(expected)


def test_equal_predicates_in_any_order_are_one_interest() -> None:
    interests = _interests([CHEAP, COSTLY, CHEAP[::-1]])
    assert len(interests) == 2
    assert [interests.number_of(conjunction_of(made)) for made in (CHEAP, COSTLY, CHEAP[::-1])] == [0, 1, 0]


def _history(*subscriptions: tuple[Predicate, ...]) -> History:
    operations = [
        operation
        for number, made in enumerate(subscriptions)
        for operation in confirmed(number, Event.SUBSCRIBE, f"S{number}", made)
    ]
    return History(lifetimes=lifetimes(operations), overlay=OVERLAY)


def test_variants_share_the_interests_of_the_same_subscriptions_alone() -> None:
    first, second, third = interests_of([_history(CHEAP, COSTLY), _history(CHEAP, COSTLY), _history(COSTLY)])
    assert first is second
    assert third is not first
