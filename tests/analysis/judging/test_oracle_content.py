"""The oracle's matching against the broker's own language, on random contents."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from analysis.judging.histories.history import History
from analysis.judging.journeys.journey import Journey
from analysis.judging.oracle import oracles_of
from analysis.judging.rights.declared import conjunction_of
from analysis.reading.lifetimes import lifetimes
from analysis.reading.log_events import ClientOperation, LogPosition
from analysis.reading.publication_events import Published, decode_content
from analysis.tables.deliveries import Right
from broker_service.language import Advertisement, Operator, Predicate, Publication, Subscription
from broker_service.language.content import conforms, matches
from record.digests import encode_content
from record.log import Event, PredicateRecord
from record.time_units import SECOND
from tests.analysis.history import OVERLAY
from tests.analysis.judging.language.translation import records_of

LARGE = 2**53
NUMBERS = (-1.5, -0.0, 0, 1, 2.0, 1e300, LARGE, LARGE + 1, 10**30)
STRINGS = ("", "a", "ab", "b", "é", "\uffff", "\U00010000", "\U00010000a")
"""The last two are ordered the other way round by UTF-16 units."""
names = st.sampled_from(("a", "b", "class"))


@st.composite
def predicates(draw: st.DrawFn) -> Predicate:
    operator = draw(st.sampled_from(Operator))
    numeric = operator.value in ("=", "<>", "<", "<=", ">", ">=") or (
        operator is Operator.PRESENT and draw(st.booleans())
    )
    return Predicate(draw(names), operator, draw(st.sampled_from(NUMBERS if numeric else STRINGS)))


conjunctions = st.lists(predicates(), min_size=1, max_size=3).map(tuple)
contents = st.builds(
    lambda own, others: {**others, "class": own},
    st.sampled_from(STRINGS),
    st.dictionaries(st.sampled_from(("a", "b")), st.sampled_from((*NUMBERS, *STRINGS)), max_size=2),
)


def confirmed(number: int, event: Event, client: str, predicates: tuple[Predicate, ...]) -> list[ClientOperation]:
    """A subscription or an advertisement, confirmed at once."""
    records = records_of(predicates)
    made = ClientOperation(
        LogPosition(number, "driver", 0, 0),
        0,
        event,
        event.value,
        client,
        "1",
        "driver",
        "B1",
        msgspec.json.encode(records),
    )
    return [made, made._replace(at=LogPosition(number, "driver", 0, 1), event=Event.CONFIRMED, predicates=b"")]


@given(
    st.lists(conjunctions, max_size=8),
    st.lists(
        conjunctions.map(lambda conjunction: (*conjunction, Predicate("class", Operator.PRESENT, ""))), max_size=2
    ),
    st.lists(contents, min_size=1, max_size=4),
)
def test_a_client_must_get_what_matches_and_conforms(
    subscriptions: list[tuple[Predicate, ...]],
    advertisements: list[tuple[Predicate, ...]],
    published: list[dict[str, int | float | str]],
) -> None:
    operations: list[ClientOperation] = []
    for number, predicates in enumerate(subscriptions):
        operations += confirmed(number, Event.SUBSCRIBE, f"S{number}", predicates)
    for number, predicates in enumerate(advertisements):
        made = confirmed(number, Event.ADVERTISE, "P", predicates)
        operations += [operation._replace(id=f"a{number}") for operation in made]
    (oracle,) = oracles_of([History(overlay=OVERLAY, lifetimes=lifetimes(operations))])
    for attributes in published:
        encoded = encode_content(
            {name: value for name, value in attributes.items() if not isinstance(value, str)},
            {name: value for name, value in attributes.items() if isinstance(value, str)},
        )
        assert decode_content(encoded) == attributes
        published_then = Published(0, "P:1", 60 * SECOND, "P", None, encoded, "driver", "B1", 0)
        journey = Journey(published=published_then, seen_last=published_then.time)
        verdict = oracle.judge(journey)
        content = Publication(attributes)
        conforming = [n for n, made in enumerate(advertisements) if conforms(content, Advertisement(made))]
        matching = {f"S{n}" for n, made in enumerate(subscriptions) if matches(Subscription(made), content)}
        must = {judgement.client for judgement in verdict.judgements if judgement.right is Right.MUST}
        assert must == (matching if conforming else set())
        assert (verdict.tree is None) == (not conforming)


def test_predicates_outside_the_language_match_nothing() -> None:
    odd = confirmed(0, Event.SUBSCRIBE, "S", (Predicate("a", Operator.EQUAL, 1),))
    nonsense = odd[0]._replace(
        predicates=msgspec.json.encode([PredicateRecord(attribute="a", operator="nonsense", number=1)])
    )
    (life,) = lifetimes([nonsense, odd[1]])
    assert conjunction_of(life) is None
    (oracle,) = oracles_of([History(overlay=OVERLAY, lifetimes=[life])])
    assert oracle.judge(Journey()).judgements == []
