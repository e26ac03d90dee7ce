"""The capability ladder: which runtime and which link driver this host can really offer.

    container (Docker and Mininet)  >  process (Mininet)  >  simulated (nothing of the host's)
    netem (kernel)  >  userspace (relay)

`auto` takes the highest rung that works and reports why those above do not. Asking for a rung that does not work is an
error which names the missing piece: only `auto` for both ever comes down to `simulated`, where links are modelled.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

from emulation.network.drivers import usable_drivers
from emulation.network.model import LinkDriver
from record.errors import BadInputError, HostError
from record.extras import EMULATION
from record.manifest import RungChoice

if TYPE_CHECKING:
    from docker import DockerClient

    from emulation.host.images import ImageReference, PrintLine

AUTO = "auto"
SIMULATED = "simulated"
RUNTIMES = ("container", "process", SIMULATED)
LINK_DRIVERS = (LinkDriver.NETEM, LinkDriver.USERSPACE)


@dataclass(frozen=True, slots=True)
class Docker:
    """A daemon that answers, with the broker image of this tree."""

    client: DockerClient
    image: ImageReference


@dataclass(frozen=True, slots=True)
class Simulated:
    """Virtual time, which asks nothing of the host."""

    runtime: RungChoice


@dataclass(frozen=True, slots=True)
class Rungs:
    """Rungs of a run in real time."""

    runtime: RungChoice
    links: RungChoice
    docker: Docker | None
    """Docker's client, for the container runtime only."""

    @property
    def driver(self) -> LinkDriver:
        return LinkDriver(self.links.name)

    @property
    def image(self) -> str | None:
        """Identifier of the broker image; None without containers."""
        return None if self.docker is None else self.docker.image.identifier


def choose(runtime: str, links: str, print_line: PrintLine) -> Rungs | Simulated:
    """Takes the rungs asked for, or the highest that work for `auto`; builds the broker image if need be.

    Raises `BadInputError` for a rung that does not exist, `HostError` for one that does not work here.
    """
    _known("runtime", runtime, RUNTIMES)
    _known("link driver", links, LINK_DRIVERS)
    if runtime == SIMULATED:
        if links != AUTO:
            raise BadInputError(f"--links {links}: simulated links are modelled; leave --links out")
        return Simulated(RungChoice(SIMULATED, "asked for"))
    try:
        return _choose_real(runtime, links, print_line)
    except HostError as error:
        if (runtime, links) != (AUTO, AUTO):
            raise
        reason = f"neither the container nor the process runtime works here: {str(error).splitlines()[0]}"
        print_line(f"runtime {SIMULATED}, because {reason}")
        return Simulated(RungChoice(SIMULATED, reason))


def _choose_real(runtime: str, links: str, print_line: PrintLine) -> Rungs:
    """The rungs in real time. Raises `HostError` when none works, or not the one that was asked for."""
    EMULATION.require()
    if os.geteuid() != 0:
        raise HostError("network namespaces need root: run this as root, or with sudo")
    for tool, package in (("mnexec", "mininet"), ("setpriv", "util-linux"), ("nsenter", "util-linux")):
        if shutil.which(tool) is None:
            raise HostError(f"the program {tool} is missing: install the package {package}, or run `make setup`")
    driver = choose_links(links)
    chosen, docker = _choose_runtime(runtime, print_line)
    return Rungs(chosen, driver, docker)


def _choose_runtime(wanted: str, print_line: PrintLine) -> tuple[RungChoice, Docker | None]:
    if wanted == "process":
        return RungChoice("process", "asked for"), None
    from emulation.host.docker_host import docker_client, ensure_image  # noqa: PLC0415 - loads Docker's client library

    try:
        client = docker_client()
        docker = Docker(client, ensure_image(client, print_line))
    except HostError as error:
        if wanted == "container":
            raise
        reason = f"the container runtime does not work here: {str(error).splitlines()[0]}"
        print_line(f"runtime process, because {reason}")
        return RungChoice("process", reason), None
    return RungChoice(
        "container", "asked for" if wanted == "container" else "the highest rung, and it works here"
    ), docker


def choose_links(wanted: str = AUTO) -> RungChoice:
    """The link driver asked for, or the highest that works; `HostError` when it does not."""
    trials = usable_drivers()
    if wanted != AUTO:
        trial = next(trial for trial in trials if trial.driver == wanted)
        if not trial.usable:
            raise HostError(f"link driver {wanted} does not work here: {trial.reason}")
        return RungChoice(wanted, "asked for")
    obstacles = [f"{trial.driver} does not work here: {trial.reason}" for trial in trials if not trial.usable]
    for trial in trials:
        if trial.usable:
            return RungChoice(trial.driver.value, "; ".join(obstacles) or "the highest rung, and it works here")
    raise HostError(f"no link driver works here: {'; '.join(obstacles)}")


def _known(what: str, name: str, known: tuple[str, ...]) -> None:
    if name not in (AUTO, *known):
        raise BadInputError(f"there is no {what} {name!r}; choose {', '.join((AUTO, *known[:-1]))} or {known[-1]}")
