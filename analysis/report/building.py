"""Report pages as files: of one run, in its directory, and of several runs, where the user wants it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from analysis.report.data import read_report_data
from analysis.report.page import render, render_several
from analysis.run_files.soundness import require_own_directory
from record.files import REPORT, replace_file


def build_report(directory: Path, processes: int = 1) -> Path:
    """Writes `report/index.html` of an analysed run, and its worst journeys beside it, and returns the page's path.

    What takes long is done by so many processes, by default by this one alone. Raises `RunDirectoryError`.
    """
    data = read_report_data(directory, processes)
    target = data.directory / REPORT
    require_own_directory(target.parent)
    target.parent.mkdir(exist_ok=True)
    for worst in data.notable.worst:
        replace_file(target.parent / worst.file, worst.content)
    replace_file(target, render(data).encode())
    return target


def build_joint_report(directories: Sequence[Path], target: Path, processes: int = 1) -> None:
    """Writes one page for several analysed runs, with so many processes. Raises `RunDirectoryError`, `OSError`."""
    runs = [read_report_data(directory, processes) for directory in directories]
    replace_file(target, render_several(runs, target).encode())
