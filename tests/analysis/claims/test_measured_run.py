"""A run as input of measures."""

from __future__ import annotations

from pathlib import Path

from analysis.claims.measured_run import MeasuredRun


def test_measures_of_a_run_share_what_takes_long_to_read() -> None:
    read: list[MeasuredRun] = []

    def count(run: MeasuredRun) -> int:
        read.append(run)
        return len(read)

    first, second = MeasuredRun(Path("a"), ()), MeasuredRun(Path("b"), ())
    assert [first.once(count), first.once(count), second.once(count), first.once(count)] == [1, 1, 2, 1]
    assert [run.directory for run in read] == [first.directory, second.directory]
