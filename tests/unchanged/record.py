"""Records what the shipped scenarios and campaigns give in the simulator, or compares that with what was recorded.

    python -m tests.unchanged.record --runs /tmp/before              # writes digests.json, keeps the run directories
    python -m tests.unchanged.record --compare --before /tmp/before  # shows what differs, exits with 1 if anything does
    python -m tests.unchanged.record scenarios/smoke.yaml            # writes the digests of this scenario anew

All of them together take about ten minutes.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.unchanged.content import parts_of
from tests.unchanged.digests import (
    Recorded,
    differences,
    digested,
    first_differences,
    read_digests,
    surroundings,
    write_digests,
)
from tests.unchanged.running import RunError, run_shipped
from tests.unchanged.shipped import shipped


def main() -> int:
    options = _options()
    files = options.files or shipped()
    if options.compare:
        return 0 if _compare(files, options.runs, options.before) else 1
    return 0 if _record(files, options.runs) else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.unchanged.record", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("files", nargs="*", metavar="FILE", help="shipped scenarios or campaigns; all by default")
    parser.add_argument("--compare", action="store_true", help="compare with digests.json instead of writing it")
    parser.add_argument("--runs", type=Path, metavar="DIRECTORY", help="keep what the runs leave, in a new directory")
    parser.add_argument(
        "--before", type=Path, metavar="DIRECTORY", help="what an earlier --runs kept, to show the lines that differ"
    )
    options = parser.parse_args()
    if unknown := sorted(set(options.files) - set(shipped())):
        parser.error(f"{', '.join(unknown)}: not shipped; write paths from the root of the repository")
    if options.runs is not None and options.runs.exists():
        parser.error(f"--runs {options.runs}: exists already; name a new directory")
    if options.before is not None and not (options.compare and options.before.is_dir()):
        parser.error(f"--before {options.before}: goes with --compare, and names a directory that is there")
    return options


def _record(files: Sequence[str], keep: Path | None) -> bool:
    """Returns whether all could be recorded."""
    digests = read_digests()
    digests.recorded_with = surroundings()
    digests.runs = {file: recorded for file, recorded in digests.runs.items() if file in shipped()}
    recorded = 0
    for file in files:
        with _directory_of(file, keep) as directory:
            now = _run(file, directory)
        if now is not None:
            digests.runs[file] = now.recorded
            write_digests(digests)
            recorded += 1
            _say(f"{file}: recorded ({now})")
    _say(f"{recorded} of {len(files)} recorded")
    return recorded == len(files)


def _compare(files: Sequence[str], keep: Path | None, before: Path | None) -> bool:
    """Returns whether all are equal."""
    digests = read_digests()
    if (here := surroundings()) != digests.recorded_with:
        _say(f"these were recorded with {digests.recorded_with}, but this is {here}")
    equal = 0
    for file in files:
        with _directory_of(file, keep) as directory:
            now = _run(file, directory)
            if now is not None:
                found = differences(digests.runs.get(file, Recorded(parts={})), now.recorded)
                equal += not found
                _say(f"{file}: {'differs' if found else 'equal'} ({now})")
                _tell(found, None if before is None else _place(file, before), directory)
    gone = sorted(digests.runs.keys() - set(shipped()))
    for file in gone:
        _say(f"{file} is recorded, but not shipped any more")
    _say(f"{equal} of {len(files)} equal")
    return equal == len(files) and not gone


@dataclass(frozen=True, slots=True)
class _Run:
    """A scenario or campaign that was run now."""

    recorded: Recorded
    seconds: float

    def __str__(self) -> str:
        return f"{len(self.recorded.parts)} parts, {self.seconds:.0f} s"


def _run(file: str, directory: Path) -> _Run | None:
    """Runs it and takes the digests. Returns None when the command failed, after saying so."""
    began = time.monotonic()
    try:
        run_shipped(file, directory)
    except RunError as error:
        _say(f"{file}: failed: {error}")
        return None
    return _Run(digested(file, directory), time.monotonic() - began)


def _tell(found: dict[str, str], before: Path | None, now: Path) -> None:
    """Tells which parts differ, and their first lines that do where an earlier run was kept."""
    earlier = {} if before is None or not before.is_dir() else parts_of(before)
    later = parts_of(now) if found else {}
    for name, what in found.items():
        _say(f"  {name} {what}")
        if name in earlier and name in later:
            for line in first_differences(earlier[name], later[name]):
                _say(f"    {line}")


@contextmanager
def _directory_of(file: str, keep: Path | None) -> Iterator[Path]:
    """A directory to be made for a run, which is removed unless runs are kept."""
    if keep is not None:
        yield _place(file, keep)
        return
    with TemporaryDirectory(prefix="recorded-") as directory:
        yield _place(file, Path(directory))


def _place(file: str, directory: Path) -> Path:
    return (directory / file).with_suffix("")


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
