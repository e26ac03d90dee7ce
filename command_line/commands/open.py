"""`brokerlab open`: shows a run's report in the browser."""

from __future__ import annotations

import webbrowser
from pathlib import Path

from record.errors import BadInputError
from record.exit_codes import ExitCode
from record.files import REPORT


def open_run(run: Path) -> ExitCode:
    """Opens the report, and prints its path for where no browser is. Raises `BadInputError` without a report."""
    if not run.is_dir():
        raise BadInputError(f"{run}: no such run; `brokerlab runs` lists all")
    page = run / REPORT
    if not page.is_file():
        raise BadInputError(f"{page}: no such file; `brokerlab report {run}` makes it, once the run is analysed")
    print(page)
    webbrowser.open(page.absolute().as_uri())
    return ExitCode.CORRECT
