"""`brokerlab speed`: the pace at which a held run's virtual time passes."""

from __future__ import annotations

from emulation.held.held_runs import held_run
from emulation.held.requests import SpeedRequest
from record.exit_codes import ExitCode


def set_speed(name: str | None, speed: float) -> ExitCode:
    """Raises `UserError`s."""
    print(held_run(name).done(SpeedRequest(speed)).text)
    return ExitCode.CORRECT
