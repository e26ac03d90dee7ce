"""`brokerlab runs`: the runs of a directory, with their verdicts, age and size."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from analysis.run_files.run_directory import read_manifest
from analysis.run_files.stored import stored_runs
from analysis.tables.summary import read_summary
from record.errors import RunDirectoryError
from record.exit_codes import ExitCode

_UNKNOWN = "not analysed"


@dataclass(frozen=True, slots=True)
class StoredRun:
    """One row of the list."""

    run: str
    """The name of its directory."""
    scenario: str
    runtime: str
    created: datetime | None
    """Time of its begin; not known of a run whose manifest cannot be read."""
    bytes: int
    """The size of all its files."""
    delivery: str
    """Verdicts on the delivery; in words where there are none."""
    fidelity: str


Show = Callable[[Sequence[StoredRun]], None]


def list_runs(directory: Path, show: Show) -> ExitCode:
    """Shows all runs, the latest first."""
    show([_row(run) for run in reversed(stored_runs(directory))])
    return ExitCode.CORRECT


def as_table(runs: Sequence[StoredRun]) -> None:
    """Prints a table."""
    console = Console(highlight=False)
    if not runs:
        console.print("no runs here; `brokerlab emulate quickstart --runtime simulated` makes one", markup=False)
        return
    table = Table(box=None, pad_edge=False)
    for title in ("run", "runtime", "age", "size", "delivery", "fidelity"):
        table.add_column(title, no_wrap=title == "run", justify="right" if title in ("age", "size") else "left")
    now = datetime.now(UTC)
    for run in runs:
        age = "" if run.created is None else age_in_words((now - run.created).total_seconds())
        cells = (run.run, run.runtime, age, size_in_words(run.bytes), run.delivery, run.fidelity)
        table.add_row(*map(Text, cells))
    console.print(table)


def as_json(runs: Sequence[StoredRun]) -> None:
    """Prints a list of objects."""
    print(msgspec.json.format(msgspec.json.encode(runs)).decode())


def age_in_words(seconds: float) -> str:
    """A length of time in its largest unit."""
    for unit, length in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= length:
            return f"{int(seconds // length)} {unit}"
    return f"{max(0, int(seconds))} s"


def size_in_words(size: int) -> str:
    """A number of bytes in megabytes, or in gigabytes."""
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.1f} MB"


def _row(run: Path) -> StoredRun:
    size = sum(file.lstat().st_size for file in run.rglob("*") if not file.is_dir())
    try:
        manifest = read_manifest(run)
    except RunDirectoryError:
        return StoredRun(run.name, "", "", None, size, "unreadable", "")
    try:
        summary = read_summary(run)
        delivery, fidelity = ", ".join(summary.delivery), summary.fidelity
    except RunDirectoryError:
        delivery, fidelity = _UNKNOWN, ""
    created = datetime.fromisoformat(manifest.created) if manifest.created else None
    scenario = str(manifest.scenario.get("name", ""))
    return StoredRun(run.name, scenario, manifest.runtime.name, created, size, delivery, fidelity)
