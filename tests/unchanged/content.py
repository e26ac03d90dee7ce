"""The content of a run's files, as lines that are the same each time the same code runs the same scenario.

Most files are taken as they are, byte for byte: a simulated run is in virtual time, and every random choice in it comes
from the scenario's seed. These are not:

- `manifest.json` and `summary.json`: the fields in `_OF_THIS_RUN` are left out. They tell which run this is and on
  what it was made: its name and date, the versions of the packages, the state of the git tree, the host, and that of
  the calibration. Paths in the checkout are taken relative to it.
- `emulator.log`: each line begins with the time of day, which is left out.
- Tables: their columns and rows are taken instead of Parquet's bytes, because those depend on the version of Arrow.
  Rows are sorted, because no order of them is promised.
- `printed.txt`: `tests.unchanged.running` has left out how the run went on and where its directory is.

Of a campaign, `campaign.json`, the manifests of its cells, its lock and its report are not looked at, because they
describe the host and the date.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import pyarrow.parquet as pq

from tests.unchanged.running import PRINTED, made_by

_OF_THIS_RUN: Mapping[str, frozenset[str]] = {
    "manifest.json": frozenset(
        {"run_id", "created", "versions", "kernel", "git_revision", "host", "calibration_origin"}
    ),
    "summary.json": frozenset({"run_id"}),
}
_CHECKOUT = Path(__file__).parents[2]
_TIMED_LOG = "emulator.log"
_TABLE = ".parquet"
_OF_A_RUN = ("*.json", _TIMED_LOG, "logs", f"results/*{_TABLE}")
_OF_A_CAMPAIGN = ("summary.json", "cells/*/scenario.yaml", "cells/*/result.json")


def parts_of(directory: Path) -> dict[str, Path]:
    """The parts, by name, of what `run_shipped` has put into `directory`: files, tables, and all logs as one."""
    made = made_by(directory)
    patterns = _OF_A_CAMPAIGN if (made / "campaign.json").exists() else _OF_A_RUN
    found = sorted(path for pattern in patterns for path in made.glob(pattern))
    return {PRINTED: directory / PRINTED} | {path.relative_to(made).as_posix(): path for path in found}


def lines_of(part: Path) -> Iterator[str]:
    """The content of one of these parts."""
    if part.suffix == _TABLE:
        yield from _table(part)
    elif part.is_dir():
        for file in sorted(part.iterdir()):
            yield f"{file.name}:\n"
            yield from _text(file)
    elif part.name in _OF_THIS_RUN:
        yield from _document(part)
    elif part.name == _TIMED_LOG:
        yield from (_without_time(line) for line in _text(part))
    else:
        yield from _text(part)


def _text(file: Path) -> Iterator[str]:
    with file.open(encoding="utf-8", newline="\n") as opened:
        yield from opened


def _document(file: Path) -> Iterator[str]:
    content = json.loads(file.read_bytes())
    lasting = {name: value for name, value in content.items() if name not in _OF_THIS_RUN[file.name]}
    yield from json.dumps(lasting, indent=2).replace(f"{_CHECKOUT}/", "").splitlines(keepends=True)


def _without_time(line: str) -> str:
    """The line `timestamp=2026-01-31T23:59:59.000000Z level=info ...` from its second word on."""
    first, _, rest = line.partition(" ")
    return rest if first.startswith("timestamp=") else line


def _table(file: Path) -> Iterator[str]:
    """The columns of a table, then its rows. In the names of a table's directories Arrow finds one more."""
    table = pq.read_table(file)
    yield from (f"{column.name}: {column.type}{'' if column.nullable else ' not null'}\n" for column in table.schema)
    rows = (row for batch in table.to_batches() for row in batch.to_pylist())
    yield from sorted(json.dumps(row) + "\n" for row in rows)
