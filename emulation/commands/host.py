"""Commands about this host."""

from __future__ import annotations

from rich.console import Console

from emulation import doctor
from emulation.clean import clean
from emulation.commands.exit_codes import ExitCode
from emulation.docker_host import docker_client
from emulation.errors import HostError


def examine_host() -> int:
    """`brokerlab doctor`."""
    return doctor.report(Console(highlight=False))


def clean_host() -> ExitCode:
    """`brokerlab clean`."""
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
