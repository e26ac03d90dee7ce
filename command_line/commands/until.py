"""`brokerlab until`: takes a held run in virtual time to a record of its log, and lets time stand still there."""

from __future__ import annotations

from emulation.held.held_runs import held_run
from emulation.held.requests import SpeedRequest, UntilRequest
from record.exit_codes import ExitCode
from record.time_units import SECOND


def await_record(name: str | None, record: str, within: float) -> ExitCode:
    """Returns when the record has come; Ctrl-C lets time stand still before. Raises `UserError`s, one of which says
    that it has not come within so many seconds of virtual time."""
    run = held_run(name)
    try:
        print(run.done(UntilRequest(record, round(within * SECOND))).text)
    except KeyboardInterrupt:
        print(run.done(SpeedRequest(0.0)).text)
        return ExitCode.INTERRUPTED
    return ExitCode.CORRECT
