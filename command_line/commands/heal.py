"""`brokerlab heal`: ends faults of a held run."""

from __future__ import annotations

from collections.abc import Sequence

from emulation.held.held_runs import held_run
from emulation.held.requests import HealRequest
from record.exit_codes import ExitCode


def heal_faults(name: str | None, targets: Sequence[str]) -> ExitCode:
    """Ends the faults on these brokers and links, or all. Raises `UserError`s."""
    print(held_run(name).done(HealRequest(list(targets))).text)
    return ExitCode.CORRECT
