"""The runtime that belongs to the rungs chosen on the capability ladder."""

from __future__ import annotations

from emulation.host.journal import Journal
from emulation.host.run_paths import RunPaths
from emulation.runtimes.interface import Runtime
from emulation.runtimes.ladder import Rungs
from emulation.runtimes.process import ProcessRuntime


def runtime_on(rungs: Rungs, run_paths: RunPaths, journal: Journal) -> Runtime:
    """The runtime, to be entered; leaving it removes what it made."""
    if rungs.docker is None:
        return ProcessRuntime(run_paths, journal)
    from emulation.runtimes.container import ContainerRuntime  # noqa: PLC0415 - loads Docker's client library

    return ContainerRuntime(rungs.docker.client, rungs.docker.image.name, run_paths, journal)
