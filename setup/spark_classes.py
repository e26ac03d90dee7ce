"""Writes the archive of Java classes from which Spark starts faster, unless it exists; nothing without Java."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from analysis.engines.frames import Grouping
from analysis.engines.java import class_archive, java_program, options_to_write_classes
from record.callbacks import do_nothing
from record.errors import HostError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


ROW = pa.schema({"tally": pa.binary(), "parts": pa.list_(pa.struct({"bucket": pa.int32(), "bytes": pa.binary()}))})


def run_small_stages(session: SparkSession) -> None:
    """Two stages as those of an analysis, which return what they are given."""
    from analysis.engines.spark_frames import SparkFrames  # noqa: PLC0415 - half a second, for this rare step alone

    rows = pa.Table.from_pylist([{"tally": b"", "parts": [{"bucket": 1, "bytes": b""}]}] * 2, ROW)
    first = SparkFrames(session).mapped(rows, pa.Table.combine_chunks, ROW).kept()
    part = pa.schema(list(ROW.field("parts").type.value_type))
    second = first.field("parts").grouped(Grouping("bucket", 2), pa.Table.combine_chunks, part).kept()
    for frame, column in ((first, "tally"), (second, "bytes")):
        list(frame.collected([column], do_nothing))


def write_archive(archive: Path) -> None:
    """Runs a small job, so that the archive has the classes of tasks and shuffles, too."""
    from analysis.engines.spark_session import open_session  # noqa: PLC0415 - half a second, for this rare step alone

    # The name is of this process alone, because the Java of a set-up that was killed may still write.
    unfinished = archive.with_suffix(f".unfinished-{os.getpid()}")
    try:
        with open_session("local[1]", java_options=options_to_write_classes(unfinished)) as session:
            run_small_stages(session)
        unfinished.rename(archive)
    finally:
        unfinished.unlink(missing_ok=True)
    for former in archive.parent.glob("classes-*.jsa"):
        if former != archive:
            former.unlink(missing_ok=True)


def remove_unfinished(directory: Path) -> None:
    """Removes archives of 160 MB that a set-up has begun and, killed, left behind."""
    for unfinished in directory.glob("classes-*.unfinished-*"):
        unfinished.unlink(missing_ok=True)


@contextmanager
def one_writer_at_a_time(directory: Path) -> Iterator[None]:
    """Lets one set-up at a time write archives into a directory. A second one waits, and then finds the archive."""
    directory.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def ensure_archive(archive: Path) -> None:
    """Writes the archive unless it exists, and says so. Raises `HostError` or `OSError` where it cannot be written."""
    with one_writer_at_a_time(archive.parent):
        remove_unfinished(archive.parent)
        if not archive.exists():
            print("set-up: archiving the classes of Spark, which halves its start", flush=True)
            write_archive(archive)


def main() -> None:
    try:
        archive = class_archive(java_program())
    except HostError:
        return
    try:
        ensure_archive(archive)
    except (HostError, OSError) as error:
        print(f"set-up: continuing without the archive: {error}", flush=True)


if __name__ == "__main__":
    main()
