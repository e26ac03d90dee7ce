"""`brokerlab publish`: has a client of a held run publish."""

from __future__ import annotations

from emulation.held.held_runs import held_run
from emulation.held.requests import PublishRequest
from record.exit_codes import ExitCode


def publish_by_hand(name: str | None, broker: str, content: str, advertise: str | None) -> ExitCode:
    """Publishes at a broker. Raises `UserError`s."""
    print(held_run(name).done(PublishRequest(broker, content, advertise)).text)
    return ExitCode.CORRECT
