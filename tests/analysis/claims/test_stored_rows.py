"""Rows of one variant, read when they are needed."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis.claims.stored_rows import StoredRows
from analysis.run_files.folders import LocalFolder
from analysis.tables.deliveries import Expectation
from analysis.tables.partitions import PartWriter
from record.errors import RunDirectoryError


def expectation(variant: str, publication: str) -> Expectation:
    return Expectation(
        variant=variant, publication=publication, client="S1", right="must", notifications=1, defect=None, cause=None,
        publisher="P1", published_ns=0,
    )  # fmt: skip


def rows_of(results: Path, variant: str) -> StoredRows[Expectation]:
    return StoredRows(results, Expectation, variant, lambda row: row.publication != "P1:2")


def written(results: Path, variant: str, number: int) -> None:
    with PartWriter(LocalFolder(results), Expectation, number) as writer:
        for publication in ("P1:1", "P1:2", f"P1:{number}"):
            writer.write(expectation(variant, publication))


def test_rows_are_the_chosen_ones_of_one_variant(tmp_path: Path) -> None:
    written(tmp_path, "a+b", 3)
    written(tmp_path, "a+b", 4)
    written(tmp_path, "a", 5)
    found = rows_of(tmp_path, "a+b")
    assert [row.publication for row in found] == ["P1:1", "P1:3", "P1:1", "P1:4"]
    assert (len(found), found[-1], list(found[:1])) == (4, expectation("a+b", "P1:4"), [expectation("a+b", "P1:1")])


def test_rows_are_read_when_they_are_needed_and_once(tmp_path: Path) -> None:
    found = rows_of(tmp_path, "a")
    written(tmp_path, "a", 3)
    assert len(found) == 2
    written(tmp_path, "a", 4)
    assert len(found) == 2


def test_a_variant_without_rows_has_none_and_a_missing_table_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RunDirectoryError, match="no such table"):
        list(rows_of(tmp_path, "a"))
    written(tmp_path, "b", 3)
    assert not rows_of(tmp_path, "a")
