"""The runtime that belongs to the rungs chosen on the capability ladder, and the images that it needs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from emulation.host.journal import Journal
from emulation.host.run_paths import RunPaths
from emulation.runtimes.client_programs import field_of
from emulation.runtimes.deployed_systems import parts_of, require_system
from emulation.runtimes.interface import Resources, Runtime
from emulation.runtimes.ladder import Rungs
from emulation.runtimes.process import ProcessRuntime
from scenario.sections.clients import ProgramSection

if TYPE_CHECKING:
    from emulation.runtimes.client_containers import ClientContainers


def provide_images(rungs: Rungs, protocols: Iterable[str], print_line: Callable[[str], None]) -> None:
    """Builds what is missing of the images in which brokers with these protocols run, where they run in any."""
    if rungs.docker is None:
        return
    from emulation.host.protocol_image import image_for  # noqa: PLC0415 - loads Docker's client library

    for protocol in protocols:
        image_for(rungs.docker.client, rungs.docker.image.name, protocol, print_line)


def foreign_images(
    rungs: Rungs, resources: Iterable[Resources], print_line: Callable[[str], None]
) -> Mapping[str, str]:
    """Identifiers of the images of brokers that are not brokerlab's, by name; those of deployed systems are built.

    Raises `HostError` for one unfit, and for a system that is not installed.
    """
    programs = [each.foreign for each in resources if each.foreign is not None]
    systems = sorted({program.system for program in programs if program.system is not None})
    for system in systems:
        require_system(system)
    if rungs.docker is None or not programs:
        return {}
    from emulation.host.system_image import system_image  # noqa: PLC0415 - loads Docker's client library
    from emulation.runtimes.foreign_images import looked_at  # noqa: PLC0415 - loads Docker's client library

    names = sorted({program.image for program in programs if program.image is not None})
    client, base = rungs.docker.client, rungs.docker.image.name
    names += [system_image(client, base, parts_of(system), print_line) for system in systems]
    return {name: looked_at(client, name).identifier for name in names}


def program_images(rungs: Rungs, programs: Iterable[tuple[str, ProgramSection]]) -> Mapping[str, str]:
    """Identifiers of the images of client programs, by name; `programs` are pairs of a client and its program.

    Raises `HostError` for one that is unfit, or that starts nothing.
    """
    found: dict[str, str] = {}
    if rungs.docker is None:
        return found
    from emulation.runtimes.foreign_images import looked_at  # noqa: PLC0415 - loads Docker's client library

    for client, program in programs:
        if program.image is not None:
            image = looked_at(rungs.docker.client, program.image, field_of(client))
            image.command(program.command or ())
            found[program.image] = image.identifier
    return found


@contextmanager
def client_containers(rungs: Rungs, run_paths: RunPaths, journal: Journal) -> Iterator[ClientContainers | None]:
    """The containers of client programs; None of a run without containers."""
    if rungs.docker is None:
        yield None
        return
    from emulation.runtimes.client_containers import ClientContainers  # noqa: PLC0415 - loads Docker's client library

    with ClientContainers(rungs.docker.client, rungs.docker.image.name, run_paths, journal) as containers:
        yield containers


def runtime_on(rungs: Rungs, run_paths: RunPaths, journal: Journal) -> Runtime:
    """The runtime, to be entered; leaving it removes what it made."""
    if rungs.docker is None:
        return ProcessRuntime(run_paths, journal)
    from emulation.runtimes.container import ContainerRuntime  # noqa: PLC0415 - loads Docker's client library

    return ContainerRuntime(rungs.docker.client, rungs.docker.image.name, run_paths, journal)
