"""The oracle's combinations against the naive definition of a detection, which shares no code with them."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from analysis.judging.detections.combinations import Combinations
from analysis.judging.language import Columns, Matcher, Value, composed, parts_of
from broker_service.language.composite import Composite
from tests.analysis.judging.language.translation import pattern_of
from tests.broker_service.detection import naive
from tests.broker_service.detection.naive import Published
from tests.broker_service.detection.strategies import patterns, publications, windows
from tests.broker_service.detection.trial import Trial


def found(
    pattern: Composite, published: Sequence[Published], within: int, sizes: Sequence[int]
) -> list[frozenset[str]]:
    """All sets that the oracle finds, in the order found."""
    combinations = Combinations(pattern_of(pattern), within, sizes)
    in_order = sorted(published, key=lambda made: (made.stamp, made.id))
    sets = []
    for number, made in enumerate(in_order):
        leaves, values = matching(pattern, made)
        if leaves:
            for members in combinations.add(made.stamp, number, leaves, values):
                sets.append(frozenset(in_order[member].id for member in members))
    return sets


def matching(pattern: Composite, made: Published) -> tuple[list[int], list[list[Value]]]:
    """The parts that a publication matches by the judge, and the values that they compare with variables."""
    parts = parts_of(pattern_of(pattern))
    matched = Matcher([part.conjunction for part in parts]).matches(Columns([made.attributes])).of(0)
    leaves = sorted(matched)
    return leaves, [[made.attributes[compared.attribute] for compared in parts[leaf].variables] for leaf in leaves]


def detected(pattern: Composite, published: Sequence[Published], within: int) -> set[frozenset[str]]:
    """All sets that the brokers' detector finds, whatever the order of arrival."""
    trial = Trial()
    trial.add("c", pattern, within)
    return {publications for _, publications in trial.arrive_all(published)}


@given(patterns, publications(), windows, st.data())
def test_combinations_are_those_of_the_definition(
    pattern: Composite, published: list[Published], within: int, data: st.DataObject
) -> None:
    """Every set once, whichever operand is joined first."""
    parts = len(parts_of(pattern_of(pattern)))
    sizes = data.draw(st.lists(st.integers(0, 3), min_size=parts, max_size=parts))
    sets = found(pattern, published, within, sizes)
    assert len(set(sets)) == len(sets)
    assert set(sets) == naive.detections(pattern, published, within)
    assert set(sets) == detected(pattern, data.draw(st.permutations(published)), within)


def test_memory_holds_two_windows() -> None:
    """Tables keep of a long run what may still join, and as much again."""
    pattern = composed("{[class,eq,'A'],[x,=,$I$X]}&{[class,eq,'B'],[x,=,$I$X]}", 1_000).pattern
    combinations = Combinations(pattern, 1_000, [1, 1])
    complete = 0
    for stamp in range(6_000):
        complete += len(combinations.add(stamp, stamp, [stamp % 2], [[stamp % 7]]))
    assert complete > 120_000
    assert combinations.rows < 2 * 1_000 + 100


def test_predicates_without_variables_are_not_read_again() -> None:
    """Stage 2 has matched them, so that stage 3 needs no contents."""
    (part,) = parts_of(composed("{[class,eq,'A'],[x,>,3]}", 0).pattern)
    assert part.variables == ()
    assert Combinations(part, 0, [1]).add(5, 0, [0], ()) == [(0,)]
