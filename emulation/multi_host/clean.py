"""Removes from a host the remains of dead runs: `python -m emulation.multi_host.clean DIRECTORY CONTROLLER RUN...`

A part of a run may still have a living agent when whoever controlled it was killed: the agent waits, and ends by itself
in the end. It is ended at once here, when its controller is the one that asks (`CONTROLLER`) and its run is none of
those that live there (`RUN`...). Runs of other controllers are left alone as long as their agents live, or for a day.
"""

from __future__ import annotations

import shutil
import sys
import time
from pathlib import Path

from emulation.host.docker_host import docker_client
from emulation.multi_host.model import read_part
from emulation.multi_host.signals import agent_lives, end_agent
from emulation.upkeep.clean import clean
from record.errors import BadInputError, HostError
from record.exit_codes import ExitCode

PARTS = "parts"
_ENDS_WITHIN = 20.0
"""Seconds that an agent gets to end in order."""
_FORGOTTEN_AFTER = 86_400.0
"""Seconds after which a part without an agent is taken for forgotten by its controller."""


def clean_parts(directory: Path, controller: str, live: frozenset[str]) -> list[str]:
    """Ends and removes parts of dead runs; returns the names that their runs had on this host."""
    removed: list[str] = []
    for place in sorted((directory / PARTS).glob("*")):
        if not place.is_dir():  # packed, and never fetched
            place.unlink()
            continue
        try:
            part = read_part(place / "part.json")
        except BadInputError:  # handed over in part
            part = None
        if part is not None and part.controller == controller:
            if part.run_id in live:
                continue
            end_agent(place / "signals", _ENDS_WITHIN)
        elif agent_lives(place / "signals") or time.time() - place.stat().st_mtime < _FORGOTTEN_AFTER:
            continue
        shutil.rmtree(place, ignore_errors=True)
        removed.append(place.name)
    return removed


def main(directory: str, controller: str, *live: str) -> int:
    """The command that Ansible runs."""
    parts = clean_parts(Path(directory), controller, frozenset(live))
    try:
        client = docker_client()
    except HostError:
        client = None
    cleaned = clean(client)
    told = [f"removed {len(parts)} part{'s' if len(parts) != 1 else ''} of runs"] if parts else []
    print("; ".join([*told, str(cleaned)]))
    for failure in cleaned.failures:
        print(f"could not be removed: {failure}", file=sys.stderr)
    return ExitCode.HOST if cleaned.failures else ExitCode.CORRECT


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
