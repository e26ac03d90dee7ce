"""The cells that failed, in sentences and as an exit code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from record.exit_codes import ExitCode
from record.wording import count_of
from studies.cells.attempt import CellFailure

_GRAVEST_FIRST = (ExitCode.DEFECT, ExitCode.BROKER_DEFECT, ExitCode.HOST, ExitCode.BAD_INPUT)


def failure_lines(failed: Mapping[str, CellFailure]) -> Iterator[str]:
    """The cells that failed, by key, with the reasons."""
    if failed:
        cells = count_of(len(failed), "cell")
        yield f"{cells} failed, and the others went on; the same command repeats them:"
    for key, failure in failed.items():
        yield f"  {key}: {failure.message}"


def failed_code(failed: Mapping[str, CellFailure]) -> ExitCode:
    """The exit code for cells that failed: that of the gravest failure; `CORRECT` where none did."""
    codes = {failure.exit_code for failure in failed.values()}
    return next((code for code in _GRAVEST_FIRST if code in codes), ExitCode.DEFECT if codes else ExitCode.CORRECT)
