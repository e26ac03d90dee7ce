"""Writes the archive of Java classes from which Spark starts faster, unless it exists; nothing without Java."""

from __future__ import annotations

from pathlib import Path

from analysis.engines.java import class_archive, java_program, options_to_write_classes
from record.errors import HostError


def write_archive(archive: Path) -> None:
    """Runs a small job, so that the archive has the classes of tasks and shuffles, too."""
    from analysis.engines.spark_context import open_context  # noqa: PLC0415 - half a second, for this rare step alone

    archive.parent.mkdir(parents=True, exist_ok=True)
    unfinished = archive.with_suffix(".unfinished")
    unfinished.unlink(missing_ok=True)
    with open_context("local[1]", java_options=options_to_write_classes(unfinished)) as context:
        context.parallelize([(0, b""), (1, b"")], 2).partitionBy(2).count()
    unfinished.rename(archive)
    for former in archive.parent.glob("classes-*.jsa"):
        if former != archive:
            former.unlink()


def main() -> None:
    try:
        archive = class_archive(java_program())
    except HostError:
        return
    if archive.exists():
        return
    print("set-up: archiving the classes of Spark, which halves its start", flush=True)
    try:
        write_archive(archive)
    except (HostError, OSError) as error:
        print(f"set-up: continuing without the archive: {error}", flush=True)


if __name__ == "__main__":
    main()
