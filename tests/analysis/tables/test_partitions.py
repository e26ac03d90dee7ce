"""Tables that are directories: written in parts, replaced as a whole, read by other tools as one table."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import dataset

from analysis.run_files.folders import LocalFolder
from analysis.tables.deliveries import Expectation
from analysis.tables.partitions import PartWriter, parts_folder, publish_parts
from analysis.tables.results import ROWS_AT_ONCE, read_table, write_table
from analysis.tables.schema import arrow_schema
from tests.analysis.rows import expectation

VARIANTS = ("publications=fixed, cpu=10%", "a/b", "ü", "none of it", "12")


def write(results: Path, buckets: dict[int, list[Expectation]], variants: tuple[str, ...] = VARIANTS) -> int:
    folder = LocalFolder(results)
    with parts_folder(folder) as parts:
        for number, rows in buckets.items():
            with PartWriter(parts, Expectation, number) as writer:
                for row in rows:
                    writer.write(row)
        return publish_parts(parts, Expectation, folder, variants)


def rows_of(variant: str, count: int, since: int = 0) -> list[Expectation]:
    return [expectation(variant=variant, publication=f"P:{number}") for number in range(since, since + count)]


def in_order(rows: list[Expectation]) -> list[tuple[str, str]]:
    return sorted((row.variant, row.publication) for row in rows)


def test_arrow_reads_what_was_written(tmp_path: Path) -> None:
    buckets = {
        1: rows_of(VARIANTS[0], 3) + rows_of(VARIANTS[1], 2),
        7: rows_of(VARIANTS[1], 4, since=2) + rows_of("ü", 1) + rows_of("12", 1),
    }
    written = [row for rows in buckets.values() for row in rows]
    assert write(tmp_path, buckets) == len(written)
    assert in_order(read_table(tmp_path, Expectation)) == in_order(written)
    keys = pa.schema([pa.field("variant", pa.string())])
    table = dataset.dataset(
        tmp_path / "expected.parquet", partitioning=dataset.partitioning(keys, flavor="hive")
    ).to_table()
    assert set(table.column_names) == set(arrow_schema(Expectation).names)
    read = zip(table["variant"].to_pylist(), table["publication"].to_pylist(), strict=True)
    assert sorted(read) == in_order(written)
    assert {row["right"] for row in table.to_pylist()} == {"must"}


def test_a_variant_without_rows_has_a_schema(tmp_path: Path) -> None:
    assert write(tmp_path, {}) == 0
    assert read_table(tmp_path, Expectation) == []
    read = dataset.dataset(tmp_path / "expected.parquet", partitioning="hive").to_table()
    assert (read.num_rows, set(read.column_names)) == (0, set(arrow_schema(Expectation).names))


def test_more_rows_than_are_held(tmp_path: Path) -> None:
    rows = rows_of("one", ROWS_AT_ONCE + 10)
    assert write(tmp_path, {3: rows}, ("one",)) == len(rows)
    assert in_order(read_table(tmp_path, Expectation)) == in_order(rows)


def test_a_part_made_again_and_an_older_table_are_replaced(tmp_path: Path) -> None:
    write_table(rows_of("one", 5), tmp_path, Expectation)  # one file, as small tables are
    assert len(read_table(tmp_path, Expectation)) == 5
    for count in (9, 4):
        write(tmp_path, {0: rows_of("one", count)}, ("one",))
        assert len(read_table(tmp_path, Expectation)) == count
    folder = LocalFolder(tmp_path)
    with parts_folder(folder) as parts:
        for count in (8, 6):
            with PartWriter(parts, Expectation, 0) as writer:
                for row in rows_of("one", count):
                    writer.write(row)
        assert publish_parts(parts, Expectation, folder, ("one",)) == 6
    assert [path.name for path in tmp_path.iterdir()] == ["expected.parquet"]


def test_a_stage_that_fails_leaves_the_older_table(tmp_path: Path) -> None:
    write(tmp_path, {0: rows_of("one", 3)}, ("one",))
    with (
        pytest.raises(RuntimeError),
        parts_folder(LocalFolder(tmp_path)) as parts,
        PartWriter(parts, Expectation, 0) as writer,
    ):
        writer.write(expectation(variant="one", publication="P:1"))
        raise RuntimeError
    assert len(read_table(tmp_path, Expectation)) == 3
    assert [path.name for path in tmp_path.iterdir()] == ["expected.parquet"]
