"""Seconds and blocks of seconds of the phase `run`."""

from __future__ import annotations

import pytest

from analysis.run_files.blocks import Blocks, blocks_of
from analysis.run_files.time_units import second_due
from record.manifest import PhaseName, PhaseRecord, VariantRecord
from record.time_units import MILLISECOND, SECOND


@pytest.mark.parametrize(
    ("seconds", "count"),
    [(0.0, 1), (4.0, 1), (9.99, 2), (20.0, 4), (24.0, 4), (24.98, 5), (25.03, 5), (60.0, 12)],
)
def test_only_whole_blocks_count(seconds: float, count: int) -> None:
    run = PhaseRecord(name=PhaseName.RUN, start=7 * SECOND, end=7 * SECOND + round(seconds * SECOND))
    assert blocks_of(VariantRecord(name="base", phases=[run])) == Blocks(count)


def test_a_variant_that_was_cut_short_has_one_block() -> None:
    assert blocks_of(VariantRecord(name="base")) == Blocks(1)


@pytest.mark.parametrize(("second", "number"), [(None, 0), (-3, 0), (0, 0), (4, 0), (5, 1), (19, 3), (20, 3), (24, 3)])
def test_what_lies_outside_of_the_whole_blocks_belongs_to_the_nearest(second: int | None, number: int) -> None:
    assert Blocks(4).number(second) == number


def test_a_publication_due_just_before_the_recorded_start_is_of_the_first_second() -> None:
    start = 100 * SECOND
    assert second_due(start - 4 * MILLISECOND, start) == 0
    assert second_due(start, start) == second_due(start + SECOND - 1, start) == 0
    assert second_due(start + SECOND, start) == 1
    assert second_due(start - SECOND - 1, start) == -2
    assert second_due(None, start) is second_due(start, None) is None
