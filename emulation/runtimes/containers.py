"""Containers of a run, as Docker is asked to make, end and remove them, several at a time."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType, TracebackType
from typing import Any

import docker
import docker.errors
from docker.types import LogConfig

from emulation.host.journal import Journal, Resource
from emulation.host.processes import RUN_VARIABLE
from emulation.host.run_paths import RunPaths
from emulation.host.side_by_side import SideBySide
from emulation.network.nodes import IPV6_SETTINGS
from record.errors import HostError

RUN_LABEL = "brokerlab.run"
OWNER_LABEL = "brokerlab.owner"
"""Label with the name of the broker, or the client program, whose container it is."""
SCRATCH_MOUNT = "/tmp"  # noqa: S108 - within a container

_PARALLEL = 8
"""Docker requests at a time; more only queue up in the daemon."""
_SANDBOX_PROCESSES, _SANDBOX_MEMORY = 32, 64 * 1024 * 1024
"""A sandbox only sleeps, but the container runtime's own first process, a threaded one, starts within these bounds."""
_NO_PROGRAM = re.compile(r'exec: "(?P<program>[^"]+)": (?:executable file not found|stat .*: no such file)')
"""Docker's own words for an image that lacks the program that was to be started."""


class Containers:
    """The containers of one run. Each is written down before it is made."""

    def __init__(self, client: docker.DockerClient, run_paths: RunPaths, journal: Journal) -> None:
        self._api: Any = client.api
        self._run_paths = run_paths
        self._journal = journal
        self.calls = SideBySide(_PARALLEL, "docker")

    def run_sandbox(self, name: str, owner: str, image: str) -> None:
        """Makes and starts a container that does nothing but hold a network namespace, without any network in it."""
        config = self.confined(
            "none",
            processes=_SANDBOX_PROCESSES,
            memory=_SANDBOX_MEMORY,
            log_config=LogConfig(type="none"),
            sysctls={"net.ipv6.conf.all.disable_ipv6": "1"} if IPV6_SETTINGS.exists() else {},
        )
        # Else the daemon runs its own binary in each container, to set up an empty network.
        self.run(name, owner, image, ["sleep", "infinity"], config, network_disabled=True)

    def confined(self, network: str, *, processes: int, memory: int, **further: object) -> object:
        """The settings of a container without privileges; `network` is the mode of its network in Docker's terms."""
        return self._api.create_host_config(
            network_mode=network,
            read_only=True,
            cap_drop=["ALL"],
            security_opt=["no-new-privileges"],
            pids_limit=processes,
            mem_limit=memory,
            memswap_limit=memory,  # none to swap to, where Docker would give as much again
            **further,
        )

    def run(
        self,
        name: str,
        owner: str,
        image: str,
        command: list[str],
        host_config: object,
        *,
        environment: Mapping[str, str] = MappingProxyType({}),
        **options: object,
    ) -> None:
        """Makes and starts a container with the user of its owner; `environment` is what it has besides its image's and
        the run."""
        self._journal.creating(Resource.CONTAINER, name)
        user = self._run_paths.users.of(owner)
        with docker_errors(f"start container {name}"):
            self._api.create_container(
                image,
                entrypoint=command[:1],
                command=command[1:],
                name=name,
                user=f"{user}:{user}",
                labels={"brokerlab": "1", RUN_LABEL: self._run_paths.run_id, OWNER_LABEL: owner},
                environment={**environment, RUN_VARIABLE: self._run_paths.run_id},
                detach=True,
                host_config=host_config,
                **options,
            )
            self._api.start(name)

    def pid(self, name: str) -> int:
        """The first process of a container; 0 after its end."""
        with docker_errors(f"inspect container {name}"):
            return int(self._api.inspect_container(name)["State"]["Pid"])

    def end(self, name: str) -> None:
        """Kills a container that still runs. Returns when Docker knows that it has ended."""
        try:
            self._api.stop(name, timeout=0)
        except docker.errors.NotFound:
            return
        except docker.errors.DockerException as error:
            raise HostError(f"cannot stop container {name}: {explain(error)}") from error

    def remove(self, name: str) -> None:
        """Removes a container, if it is there, with whatever runs in it."""
        try:
            self._api.remove_container(name, force=True, v=True)
        except docker.errors.NotFound:
            pass
        except docker.errors.DockerException as error:
            raise HostError(f"cannot remove container {name}: {explain(error)}") from error
        self._journal.removed(Resource.CONTAINER, name)


def scratch_of(size: int) -> Mapping[str, str] | None:
    """The file system in memory at `/tmp` of a container, of that many bytes; None for 0."""
    return {SCRATCH_MOUNT: f"size={size},mode=1777,exec"} if size else None


class docker_errors:  # noqa: N801 - used as a verb's context
    """Turns an error of Docker into a `HostError` that names the attempt."""

    def __init__(self, attempt: str) -> None:
        self._attempt = attempt

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, docker.errors.ImageNotFound):
            raise HostError(
                f"cannot {self._attempt}: the broker image is missing; build it with `make image`"
            ) from error
        if isinstance(error, docker.errors.DockerException | OSError):
            raise HostError(f"cannot {self._attempt}: {explain(error)}") from error


def explain(error: Exception) -> str:
    """One line for an error of Docker, with the remedy where one is known."""
    text = (getattr(error, "explanation", None) or str(error)).strip().splitlines()[0]
    if "is already in use" in text:
        return f"{text} Remove or rename it; `brokerlab clean` removes what dead runs left."
    if (missing := _NO_PROGRAM.search(text)) is not None:
        return f"there is no program {missing['program']} in its image; correct its `command`"
    if "no space left" in text:
        return f"{text}. Make room where Docker keeps its data, then run again."
    return str(text)
