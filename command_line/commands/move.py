"""`brokerlab move`: has clients of a held run change their broker."""

from __future__ import annotations

from collections.abc import Mapping

from emulation.held.held_runs import held_run
from emulation.held.requests import FaultRequest
from record.exit_codes import ExitCode


def move_clients(name: str | None, host: str, goal: str, settings: Mapping[str, str]) -> ExitCode:
    """Moves a site to a broker, or a client to a site, with the further fields of a scenario's `move`. Raises
    `UserError`s."""
    print(held_run(name).done(FaultRequest({"move": [host], "to": goal, **settings})).text)
    return ExitCode.CORRECT
