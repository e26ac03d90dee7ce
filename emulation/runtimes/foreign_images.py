"""Images of brokers that are not brokerlab's: looked at before a run begins, so that a run does not end by them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import docker
import docker.errors
import requests

from emulation.host.images import reason
from emulation.runtimes.interface import ForeignProgram
from record.errors import HostError


@dataclass(frozen=True, slots=True)
class ForeignImage:
    """An image that is on this host and fits it."""

    identifier: str
    entry: tuple[str, ...]
    """The command that it runs by itself; empty where it has none."""

    def command(self, foreign: ForeignProgram, config: str) -> list[str]:
        """The command of a broker. Raises `HostError` where neither the scenario nor the image has one."""
        command = foreign.command or self.entry
        if not command:
            raise HostError(
                f"brokers.image: {foreign.image} has neither an entry point nor a command; give brokers.command"
            )
        return [*command, config]


def looked_at(client: docker.DockerClient, name: str) -> ForeignImage:
    """The image of this name. Raises `HostError` where it is missing, or made for other processors than this host's."""
    try:
        found: Any = client.images.get(name)
        here = str(client.version()["Arch"])
    except docker.errors.ImageNotFound:
        raise HostError(
            f"brokers.image: there is no image {name} on this host; build it, or `docker pull {name}`"
        ) from None
    except (docker.errors.DockerException, requests.RequestException) as error:
        raise HostError(f"brokers.image: {name} cannot be looked at: {reason(error)}") from error
    made_for = str(found.attrs.get("Architecture") or here)
    if made_for != here:
        raise HostError(f"brokers.image: {name} is made for {made_for} processors, and this host has {here}")
    settings = found.attrs.get("Config") or {}
    entry = settings.get("Entrypoint") or settings.get("Cmd") or ()
    return ForeignImage(str(found.id), tuple(entry))
