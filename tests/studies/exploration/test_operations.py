"""Operations of explored runs: so few publications beside composite subscriptions that their sets can be counted."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from studies.exploration.draws import seconds
from studies.exploration.operations import (
    MOST_BESIDE_COMPOSITES,
    MOST_PUBLICATIONS,
    Course,
    OperationsDraw,
)


def publications(*, composites: bool) -> Iterator[int]:
    """The number of publications of each run with composite subscriptions, or without."""
    course = Course(seconds(3), seconds(10))
    for number in range(200):
        verbs = [verb for _, item in OperationsDraw(Random(number), ("B1", "B2"), course).drawn() for verb in item]
        if ("composite" in verbs) is composites:
            yield verbs.count("publish")


def test_few_publications_are_made_where_any_of_them_may_make_up_a_set() -> None:
    assert 15 < max(publications(composites=True)) <= MOST_BESIDE_COMPOSITES
    assert MOST_BESIDE_COMPOSITES < max(publications(composites=False)) <= MOST_PUBLICATIONS
