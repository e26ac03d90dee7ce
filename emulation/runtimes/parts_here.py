"""Parts of a scenario that are not brokerlab's, looked for on this host before a run: programs, images and systems."""

from __future__ import annotations

from collections.abc import Iterable

from emulation.runtimes.client_programs import field_of
from emulation.runtimes.deployed_systems import require_system
from emulation.runtimes.foreign import require_program
from emulation.runtimes.interface import Resources
from scenario.sections.clients import ProgramSection


def require_parts(resources: Iterable[Resources], programs: Iterable[tuple[str, ProgramSection]]) -> None:
    """Raises `HostError`, which names the field, for the first part that is not on this host.

    `programs` are those of clients, each with its client. Variants may have the same images, which are looked at once.
    """
    images: dict[tuple[str, str], None] = {}
    for each in resources:
        foreign = each.foreign
        if foreign is not None and foreign.system is not None:
            require_system(foreign.system)
        elif foreign is not None and foreign.image is None:
            require_program(foreign.command, "brokers.command")
        if image := each.image or (foreign and foreign.image):
            images[image, "brokers"] = None
    for client, program in programs:
        if program.image is None:
            require_program(program.command or (), f"{field_of(client)}.command")
        else:
            images[program.image, field_of(client)] = None
    if images:
        _require_images(images)


def _require_images(images: Iterable[tuple[str, str]]) -> None:
    from emulation.host.docker_host import docker_client  # noqa: PLC0415 - loads Docker's client library
    from emulation.runtimes.foreign_images import looked_at  # noqa: PLC0415 - loads Docker's client library

    client = docker_client()
    for name, section in images:
        looked_at(client, name, section)
