"""Selectors let through whatever their subscriptions match, and no more where JMS can say as much.

They are evaluated by SQLite here: their words are SQL's, and so is what a comparison with an absent property yields.
ActiveMQ's own server says the same of each.
"""

from __future__ import annotations

import asyncio
import importlib.util
import itertools
import shutil
import sqlite3
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from broker_service.config import BrokerConfig
from broker_service.language import Operator, Predicate, Publication, Subscription
from broker_service.language.content import matches
from emulation.adapters.selectors import properties_of, selector_for

_NUMBER_OPERATORS = [
    Operator.EQUAL, Operator.NOT_EQUAL, Operator.LESS, Operator.LESS_OR_EQUAL, Operator.GREATER,
    Operator.GREATER_OR_EQUAL, Operator.PRESENT,
]  # fmt: skip
_TEXT_OPERATORS = [
    each for each in Operator if each.value.startswith("str-") or each.value in ("eq", "neq", "isPresent")
]
_texts = st.text(st.sampled_from("aB4$_%'\\é~"), max_size=4)
_numbers = st.one_of(
    st.integers(-3, 3),
    st.sampled_from([0.5, -0.0, 1e300, 2**53, 2.0**53, 2**53 + 1, -(2**53) - 1, 10**400, -(10**400)]),
)
_names = st.sampled_from(["class", "price", "pr_ice", "é.x"])
_publications = st.dictionaries(_names, st.one_of(_texts, _numbers)).map(
    lambda found: Publication({**found, "class": str(found.get("class", ""))})
)
_predicates = st.one_of(
    st.builds(Predicate, _names, st.sampled_from(_TEXT_OPERATORS), _texts),
    st.builds(Predicate, _names, st.sampled_from(_NUMBER_OPERATORS), _numbers),
)
_subscriptions = st.lists(_predicates, max_size=3).map(lambda found: Subscription(tuple(found)))
_NAMES = (
    "unfit",
    "n_price",
    "t_price",
    "n_class",
    "t_class",
    "n_pr_5Fice",
    "t_pr_5Fice",
    "n__C3_A9_2Ex",
    "t__C3_A9_2Ex",
)


def lets_through(selector: str | None, publication: Publication) -> bool:
    """The outcome of a selector on the properties of a publication, as SQLite has it."""
    if selector is None:
        return True
    found = properties_of(publication)
    assert set(found) <= set(_NAMES)
    values = [float(found[name]) if name[0] == "n" and name in found else found.get(name) for name in _NAMES]
    with sqlite3.connect(":memory:") as database:
        database.execute("PRAGMA case_sensitive_like = ON")
        given = ", ".join(f"? AS {name}" for name in _NAMES)
        (held,) = database.execute(f"SELECT ({selector}) FROM (SELECT {given})", values).fetchone()
    return bool(held)


@settings(max_examples=300, deadline=None)
@given(_publications, _subscriptions)
@example(Publication({"class": "C", "price": 2**53 + 1}), Subscription((Predicate("price", Operator.GREATER, 2**53),)))
def test_a_selector_lets_through_whatever_its_subscription_matches(
    publication: Publication, subscription: Subscription
) -> None:
    if matches(subscription, publication):
        assert lets_through(selector_for(subscription), publication)


@pytest.mark.parametrize(
    ("operator", "value", "published", "through"),
    [
        (Operator.GREATER, 80, 80.5, True),
        (Operator.GREATER, 80, 80, False),
        (Operator.NOT_EQUAL, 80, 80.0, False),
        (Operator.EQUAL, 0, -0.0, True),
        (Operator.LESS, 80, "7", False),
        (Operator.EQUAL, 2**53, 7, True),  # rounding might deceive
        (Operator.STRING_EQUAL, "a", "A", False),
        (Operator.STRING_PREFIX, "a_", "ab", False),
        (Operator.STRING_POSTFIX, "%b", "a%b", True),
        (Operator.STRING_CONTAINS, "'", "it's", True),
        (Operator.STRING_CONTAINS, "'", "its", False),
        (Operator.STRING_LESS, "a", "b", True),  # JMS has no order of texts
        (Operator.STRING_LESS, "a", 1, False),
        (Operator.STRING_EQUAL, "é" * 400, "b", True),  # too long for a header
        (Operator.STRING_EQUAL, "a", "é" * 400, True),
        (Operator.PRESENT, "", "x", True),
        (Operator.PRESENT, 0, "x", False),
    ],
)
def test_a_selector_is_as_narrow_as_it_can_be(
    operator: Operator, value: str | float, published: str | float, through: bool
) -> None:
    selector = selector_for(Subscription((Predicate("price", operator, value),)))
    assert lets_through(selector, Publication({"class": "C", "price": published})) is through


def test_who_asks_for_nothing_has_no_selector() -> None:
    assert selector_for(Subscription(())) is None


@pytest.mark.proof
@pytest.mark.skipif(
    importlib.util.find_spec("stomp") is None or shutil.which("activemq") is None, reason="needs ActiveMQ and stomp.py"
)
async def test_the_server_selects_what_selectors_say(tmp_path: Path) -> None:
    texts = ["", "a", "aB", "Ba", "b", "a_", "_", "%", "$", "'", "\\", "é", "\n: x"]
    numbers = [-3, -0.0, 0.5, 2, 2.0, 80, 0, 1e300, -1e-7, 2**53 - 1, 2**53 + 1]
    values = [*texts, *numbers]
    publications = [Publication({"class": "C", "price": value}) for value in values] + [Publication({"class": "C"})]
    asked = [(each, value) for each in _TEXT_OPERATORS for value in texts[1:11:2]]
    asked += [(each, value) for each in _NUMBER_OPERATORS for value in numbers[1::2]]
    subscriptions = [Subscription((Predicate("price", operator, value),)) for operator, value in asked]
    last = Subscription((Predicate("class", Operator.STRING_EQUAL, "last"),))
    system = importlib.import_module("emulation.adapters.activemq").make(
        BrokerConfig(id="B1", incarnation=1, protocol="activemq"), tmp_path
    )
    came: set[tuple[bytes, str | None]] = set()
    ended = asyncio.Event()

    def take(payload: bytes, chosen: tuple[str | None, ...]) -> None:
        came.add((payload, chosen[-1]))
        if payload == b"last":
            ended.set()

    try:
        await system.start(take)
        for cover in dict.fromkeys(map(system.cover, [*subscriptions, last])):
            system.watch(cover)
        for number, publication in enumerate(publications):
            system.publish(publication, b"%d" % number)
        system.publish(Publication({"class": "last"}), b"last")
        await ended.wait()
    finally:
        await system.stop()
    for subscription, (number, publication) in itertools.product(subscriptions, enumerate(publications)):
        selector = selector_for(subscription)
        selected = (b"%d" % number, selector) in came
        assert selected is lets_through(selector, publication), (selector, publication)
