"""`brokerlab clean`: removes remains of ended runs from this host."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console

from emulation.upkeep.clean import clean
from record.errors import HostError
from record.exit_codes import ExitCode
from record.extras import EMULATION

if TYPE_CHECKING:
    from docker import DockerClient


def clean_host() -> ExitCode:
    """Cleans, and prints what was removed and what could not be."""
    console = Console(highlight=False)
    client = _docker()
    if client is None:
        console.print("Docker does not answer, so containers were left alone")
    cleaned = clean(client)
    console.print(str(cleaned), markup=False)
    for failure in cleaned.failures:
        console.print(f"could not be removed: {failure}", markup=False)
    return ExitCode.HOST if cleaned.failures else ExitCode.CORRECT


def _docker() -> DockerClient | None:
    """A client of Docker; None where it does not answer, or the packages for it are not installed."""
    try:
        EMULATION.require()
        from emulation.host.docker_host import docker_client  # noqa: PLC0415 - imports an extra

        return docker_client()
    except HostError:
        return None
