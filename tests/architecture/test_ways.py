"""The ways of messages through the running product are no longer than they were."""

from __future__ import annotations

import pytest

from broker_service.language import Operator, Predicate
from broker_service.routing import PROTOCOLS
from tests.architecture.ways import WAYS, Call, Counts, Way, traced

SLACK = 0.95
"""Share of a bound that a count must reach: below that, the bound is to be lowered."""


def test_calls_files_and_changes_of_file_are_counted() -> None:
    way = Way([Call("a", "f", 0), Call("b", "g", 1), Call("b", "h", 2), Call("a", "f", 1)])
    assert way.counts == Counts(calls=4, files=2, changes=2)


def test_calls_of_the_product_alone_are_traced() -> None:
    with traced() as way:
        sorted([2, 1], key=lambda number: -number)
        Predicate("price", Operator.GREATER, 0)
    assert [call.function for call in way.calls if call.depth == 0] == ["Predicate.__post_init__"]
    assert {call.file for call in way.calls} == {"broker_service/language/model.py"}


def test_each_protocol_has_its_ways() -> None:
    assert {name.partition(", ")[2] for name in WAYS} - {""} == set(PROTOCOLS)


@pytest.mark.parametrize("name", WAYS)
def test_a_way_is_as_long_as_its_bound_says(name: str) -> None:
    counts, bound = WAYS[name].followed().counts, WAYS[name].bound
    for kind in ("calls", "files", "changes"):
        count, most = getattr(counts, kind), getattr(bound, kind)
        assert count <= most, f"{kind} of the {name}: see `python -m tests.architecture.ways '{name}'`"
        assert count >= SLACK * most, f"{kind} of the {name} have fallen: lower the bound to {count}"
