"""Removes from a host the remains of dead runs: `python -m emulation.multi_host.clean DIRECTORY CONTROLLER RUN...`

The agent of a share may still run when the command that controlled it was killed: it waits, and gives up after a while.
This module ends it at once if its controller is the one that cleans (`CONTROLLER`) and its run is not one of those that
run there (`RUN`...). Shares of other controllers stay as long as their agents run, and for a day.
"""

from __future__ import annotations

import shutil
import sys
import time
from pathlib import Path

from emulation.host.docker_host import docker_client
from emulation.multi_host.model import read_share_request
from emulation.multi_host.signals import SIGNALS, agent_runs, end_agent
from emulation.upkeep.clean import clean
from record.errors import BadInputError, HostError
from record.exit_codes import ExitCode
from record.wording import count_of

SHARES = "shares"
_ENDS_WITHIN = 20.0
"""Seconds in which an agent may end in order."""
_FORGOTTEN_AFTER = 86_400.0
"""Seconds after which a share without an agent counts as abandoned by its controller."""


def clean_shares(directory: Path, controller: str, live: frozenset[str]) -> list[str]:
    """Ends and removes shares of dead runs; returns the ids of their runs on this host."""
    removed: list[str] = []
    for entry in sorted((directory / SHARES).glob("*")):
        if not entry.is_dir():  # an archive that was never fetched
            entry.unlink()
            continue
        try:
            share = read_share_request(entry / "share.json")
        except BadInputError:  # the handover was interrupted
            share = None
        if share is not None and share.controller == controller:
            if share.run_id in live:
                continue
            end_agent(entry / SIGNALS, _ENDS_WITHIN)
        elif agent_runs(entry / SIGNALS) or time.time() - entry.stat().st_mtime < _FORGOTTEN_AFTER:
            continue
        shutil.rmtree(entry, ignore_errors=True)
        removed.append(entry.name)
    return removed


def main(directory: str, controller: str, *live: str) -> int:
    """The command that Ansible runs."""
    shares = clean_shares(Path(directory), controller, frozenset(live))
    try:
        client = docker_client()
    except HostError:
        client = None
    cleaned = clean(client)
    report = [f"removed {count_of(len(shares), 'share')} of runs"] if shares else []
    print("; ".join([*report, str(cleaned)]))
    for failure in cleaned.failures:
        print(f"could not be removed: {failure}", file=sys.stderr)
    return ExitCode.HOST if cleaned.failures else ExitCode.CORRECT


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
