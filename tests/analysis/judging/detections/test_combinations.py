"""The oracle's combinations against the naive definition of a detection, which shares no code with them."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from analysis.judging.detections.combinations import Combinations
from broker_service.language import Predicate, Value
from broker_service.language.composite import Composite
from broker_service.language.composite_subscription import parts_of, relaxed, variable_predicates
from broker_service.language.evaluation import all_hold
from broker_service.language.notation import parse_composite
from tests.broker_service.detection import naive
from tests.broker_service.detection.naive import Published
from tests.broker_service.detection.strategies import patterns, publications, windows


def found(
    pattern: Composite, published: Sequence[Published], within: int, sizes: Sequence[int]
) -> list[frozenset[str]]:
    """All sets that the oracle finds, in the order found."""
    combinations = Combinations(pattern, within, sizes)
    in_order = sorted(published, key=lambda made: (made.stamp, made.id))
    sets = []
    for number, made in enumerate(in_order):
        leaves, values = matching(pattern, made)
        if leaves:
            for members in combinations.add(made.stamp, number, leaves, values):
                sets.append(frozenset(in_order[member].id for member in members))
    return sets


def matching(pattern: Composite, made: Published) -> tuple[list[int], list[list[Value]]]:
    """The parts that a publication matches, and the values that they compare with variables."""
    parts = [
        (number, part)
        for number, part in enumerate(parts_of(pattern))
        if all_hold(relaxed(part).predicates, made.attributes)
    ]
    values = [[made.attributes[made_.attribute] for made_ in variable_predicates(part)] for _, part in parts]
    return [number for number, _ in parts], values


@given(patterns, publications(), windows, st.data())
def test_combinations_are_those_of_the_definition(
    pattern: Composite, published: list[Published], within: int, data: st.DataObject
) -> None:
    """Every set once, whichever operand is joined first."""
    parts = len(parts_of(pattern))
    sizes = data.draw(st.lists(st.integers(0, 3), min_size=parts, max_size=parts))
    sets = found(pattern, published, within, sizes)
    assert len(set(sets)) == len(sets)
    assert set(sets) == naive.detections(pattern, published, within)


def test_memory_holds_two_windows() -> None:
    """Of a long run, tables keep what may still join and as much again."""
    pattern = parse_composite("{[class,eq,'A'],[x,=,$I$X]}&{[class,eq,'B'],[x,=,$I$X]}")
    combinations = Combinations(pattern, 1_000, [1, 1])
    complete = 0
    for stamp in range(50_000):
        complete += len(combinations.add(stamp, stamp, [stamp % 2], [[stamp % 7]]))
    assert complete > 1_000_000
    assert combinations.rows < 2 * 1_000 + 100


def test_predicates_without_variables_are_not_read_again() -> None:
    """Stage 2 has matched them, so that stage 3 needs no contents."""
    (part,) = parts_of(parse_composite("{[class,eq,'A'],[x,>,3]}"))
    assert all(isinstance(predicate, Predicate) for predicate in part.predicates)
    assert Combinations(part, 0, [1]).add(5, 0, [0], ()) == [(0,)]
