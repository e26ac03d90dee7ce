"""Images of brokers and clients that are not brokerlab's: looked at before a run begins, lest it ends by them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import docker
import docker.errors
import requests

from emulation.host.images import reason
from record.errors import HostError


@dataclass(frozen=True, slots=True)
class ForeignImage:
    """An image that is on this host and fits it."""

    section: str
    """The part of the scenario that names it: `brokers`."""
    name: str
    identifier: str
    entry: tuple[str, ...]
    """The command that it runs by itself; empty where it has none."""
    arguments: tuple[str, ...] = ()
    """The further part of that command, which a configuration takes the place of."""

    def command(self, given: Sequence[str], *configuration: str) -> list[str]:
        """The command of a container, `given` in place of the image's own. A configuration comes last.

        Raises `HostError` where neither the scenario nor the image has a command.
        """
        command = given or (self.entry if configuration else (*self.entry, *self.arguments))
        if not command:
            field = f"{self.section}.image"
            raise HostError(
                f"{field}: {self.name} has neither an entry point nor a command; give {self.section}.command"
            )
        return [*command, *configuration]


def looked_at(client: docker.DockerClient, name: str, section: str = "brokers") -> ForeignImage:
    """The image of this name, which a part of the scenario asks for.

    Raises `HostError` where it is missing, or made for other processors than this host's.
    """
    field = f"{section}.image"
    try:
        found: Any = client.images.get(name)
        here = str(client.version()["Arch"])
    except docker.errors.ImageNotFound:
        raise HostError(f"{field}: there is no image {name} on this host; build it, or `docker pull {name}`") from None
    except (docker.errors.DockerException, requests.RequestException) as error:
        raise HostError(f"{field}: {name} cannot be looked at: {reason(error)}") from error
    made_for = str(found.attrs.get("Architecture") or here)
    if made_for != here:
        raise HostError(f"{field}: {name} is made for {made_for} processors, and this host has {here}")
    settings = found.attrs.get("Config") or {}
    entry, arguments = (tuple(settings.get(name) or ()) for name in ("Entrypoint", "Cmd"))
    if not entry:
        entry, arguments = arguments, ()
    return ForeignImage(section, name, str(found.id), entry, arguments)
