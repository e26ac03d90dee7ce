"""`brokerlab clean`: removes remains of ended runs from this host."""

from __future__ import annotations

from rich.console import Console

from emulation.host.docker_host import docker_client
from emulation.upkeep.clean import clean
from record.errors import HostError
from record.exit_codes import ExitCode


def clean_host() -> ExitCode:
    """Cleans, and prints what was removed and what could not be."""
    console = Console(highlight=False)
    try:
        client = docker_client()
    except HostError:
        client = None
        console.print("Docker does not answer, so containers were left alone")
    cleaned = clean(client)
    console.print(str(cleaned), markup=False)
    for failure in cleaned.failures:
        console.print(f"could not be removed: {failure}", markup=False)
    return ExitCode.HOST if cleaned.failures else ExitCode.CORRECT
