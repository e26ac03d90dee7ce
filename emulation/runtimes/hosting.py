"""The runtime that belongs to the rungs chosen on the capability ladder, and the images that it needs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from emulation.host.journal import Journal
from emulation.host.run_paths import RunPaths
from emulation.runtimes.interface import Resources, Runtime
from emulation.runtimes.ladder import Rungs
from emulation.runtimes.process import ProcessRuntime


def provide_images(rungs: Rungs, protocols: Iterable[str], print_line: Callable[[str], None]) -> None:
    """Builds what is missing of the images in which brokers with these protocols run, where they run in any."""
    if rungs.docker is None:
        return
    from emulation.host.protocol_image import image_for  # noqa: PLC0415 - loads Docker's client library

    for protocol in protocols:
        image_for(rungs.docker.client, rungs.docker.image.name, protocol, print_line)


def foreign_images(rungs: Rungs, resources: Iterable[Resources]) -> Mapping[str, str]:
    """Identifiers of the images of brokers that are not brokerlab's, by name. Raises `HostError` for one unfit."""
    programs = [each.foreign for each in resources if each.foreign is not None]
    if rungs.docker is None or not programs:
        return {}
    from emulation.runtimes.foreign_images import looked_at  # noqa: PLC0415 - loads Docker's client library

    names = sorted({program.image for program in programs if program.image is not None})
    return {name: looked_at(rungs.docker.client, name).identifier for name in names}


def runtime_on(rungs: Rungs, run_paths: RunPaths, journal: Journal) -> Runtime:
    """The runtime, to be entered; leaving it removes what it made."""
    if rungs.docker is None:
        return ProcessRuntime(run_paths, journal)
    from emulation.runtimes.container import ContainerRuntime  # noqa: PLC0415 - loads Docker's client library

    return ContainerRuntime(rungs.docker.client, rungs.docker.image.name, run_paths, journal)
