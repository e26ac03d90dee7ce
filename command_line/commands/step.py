"""`brokerlab step`: lets some virtual time of a held run pass, and then stand still."""

from __future__ import annotations

from emulation.held.held_runs import held_run
from emulation.held.requests import StepRequest
from record.exit_codes import ExitCode
from record.time_units import SECOND


def step_time(name: str | None, seconds: float) -> ExitCode:
    """Returns when the time has passed. Raises `UserError`s."""
    print(held_run(name).done(StepRequest(round(seconds * SECOND))).text)
    return ExitCode.CORRECT
