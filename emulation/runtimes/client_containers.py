"""Client programs in Docker containers, as unprivileged as brokers are.

Every program has two containers. The sandbox holds its network namespace, which has nothing but a loopback; the
program's own joins that. So the address at which its broker is reached outlives a program that crashes. In its own
container a small init process comes first, which passes signals on and has the program end by those that it does not
handle.
"""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import docker
import docker.errors
import requests
from docker.types import LogConfig

from emulation.host.cgroups import refused_forks
from emulation.host.journal import Journal
from emulation.host.processes import ProcessIdentity, identify
from emulation.host.run_paths import RunPaths
from emulation.runtimes.client_programs import LOG_BYTES, field_of, name_of
from emulation.runtimes.containers import Containers, docker_errors, scratch_of
from emulation.runtimes.foreign_images import ForeignImage, looked_at
from emulation.runtimes.interface import EXIT_CODE_WITHIN, Resources
from record.errors import HostError
from scenario.sections.clients import ProgramSection
from scenario.sections.units import SIZE

_END_OF_OUTPUT = 4096
_INIT = 1
"""Processes of a container besides the program's: the init process."""


class ClientContainers:
    """A `ProgramHost` of programs that have an image. One object serves one run; leaving the context removes all."""

    def __init__(self, client: docker.DockerClient, base: str, paths: RunPaths, journal: Journal) -> None:
        """`base` is the image of sandboxes."""
        self._client, self._base, self._paths = client, base, paths
        self._containers = Containers(client, paths, journal)
        self._images: dict[str, ForeignImage] = {}
        self._names: dict[str, str] = {}
        """The name of each program's container."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        calls = self._containers.calls
        calls.finish()  # what an interrupted call still makes would come after its removal
        try:
            calls.each(self._containers.remove, self._names.values())
        finally:
            try:
                calls.each(self._containers.remove, map(_sandbox, self._names.values()))
            finally:
                self._names.clear()
                calls.finish()

    def sandboxes(self, clients: Sequence[str]) -> Mapping[str, int]:
        """Makes the network namespaces of programs. Returns the process that holds each. Raises `HostError`."""
        new = [client for client in clients if client not in self._names]
        for client in new:
            self._paths.users.of(name_of(client))
            self._names[client] = f"brokerlab-{self._paths.run_id}-client.{len(self._names) + 1}"
        self._containers.calls.each(self._make_sandbox, new)
        pids = self._containers.calls.each(lambda each: self._containers.pid(_sandbox(self._names[each])), clients)
        return dict(zip(clients, pids, strict=True))

    def start(
        self, client: str, program: ProgramSection, environment: Mapping[str, str], output: Path
    ) -> ClientContainer:
        name, defaults = self._names[client], Resources()
        config = self._containers.confined(
            f"container:{_sandbox(name)}",
            processes=(program.processes or defaults.processes) + _INIT,
            memory=program.memory or defaults.memory,
            init=True,
            log_config=LogConfig(type="json-file", config={"max-size": f"{LOG_BYTES >> 20}m", "max-file": "1"}),
            tmpfs=scratch_of(program.scratch or 0),
        )
        image = self._image(client, program)
        command = image.command(program.command or ())
        try:
            self._containers.remove(name)
            self._containers.run(name, name_of(client), image.identifier, command, config, environment=environment)
            pid = self._containers.pid(name)
        except HostError as error:
            raise HostError(f"{field_of(client)}: {error}") from error
        return ClientContainer(
            client=client,
            program=program,
            name=name,
            containers=self._containers,
            api=self._client.api,
            identity=identify(pid) if pid else None,
            output=output,
        )

    def _make_sandbox(self, client: str) -> None:
        self._containers.run_sandbox(_sandbox(self._names[client]), name_of(client), self._base)

    def _image(self, client: str, program: ProgramSection) -> ForeignImage:
        name = program.image or ""
        if name not in self._images:
            self._images[name] = looked_at(self._client, name, field_of(client))
        return self._images[name]


@dataclass(slots=True, kw_only=True)
class ClientContainer:
    """A `StartedProgram` in a container."""

    client: str
    """The client whose program it is."""
    program: ProgramSection
    name: str
    """The name of the container."""
    containers: Containers
    api: Any
    """Docker's."""
    identity: ProcessIdentity | None
    output: Path
    _paused: bool = False

    def exit_code(self) -> int | None:
        if self.identity is not None and self.identity.alive:
            return None
        # Docker may not have noticed yet that the container's process has ended.
        with docker_errors(f"inspect container {self.name}"):
            code = int(self.api.wait(self.name, timeout=EXIT_CODE_WITHIN)["StatusCode"])
        return code if code <= 128 else 128 - code  # Docker reports a signal the way a shell does

    def refusal(self) -> str:
        if self.identity is None or not refused_forks(self.identity.pid):
            return ""
        most = self.program.processes or Resources().processes
        return f"has as many processes as it may have, {most}, and was refused more ({field_of(self.client)}.processes)"

    def ask_to_end(self) -> None:
        if self.identity is not None:
            self.identity.kill(signal.SIGTERM)
        self.resume()

    def pause(self) -> None:
        with docker_errors(f"pause container {self.name}"):
            self.api.pause(self.name)
        self._paused = True

    def resume(self) -> None:
        if self._paused:
            self._paused = False
            with docker_errors(f"resume container {self.name}"):
                self.api.unpause(self.name)

    def end(self) -> str:
        if self.identity is not None:
            self.identity.kill()  # the first of a container, with which all others end
        self.resume()
        self.containers.end(self.name)
        lacked_memory = self._lacked_memory()
        self._keep_output()
        self.containers.remove(self.name)
        if lacked_memory:
            most = SIZE.format(self.program.memory or Resources().memory)
            return f"it needed more memory than it may have, {most} ({field_of(self.client)}.memory)"
        return self._remedy()

    def _lacked_memory(self) -> bool:
        with docker_errors(f"inspect container {self.name}"):
            return bool(self.api.inspect_container(self.name)["State"]["OOMKilled"])

    def _keep_output(self) -> None:
        """Adds all that the container has printed to the program's file, as far as Docker has it."""
        with (
            self.output.open("ab") as file,
            contextlib.suppress(docker.errors.DockerException, requests.RequestException),
        ):
            for part in self.api.logs(self.name, stdout=True, stderr=True, stream=True, follow=False):
                file.write(part)

    def _remedy(self) -> str:
        with self.output.open("rb") as file:
            file.seek(max(0, file.seek(0, 2) - _END_OF_OUTPUT))
            words = file.read().decode(errors="replace").lower()
        most = self.program.processes or Resources().processes
        crowded = f"it has as many processes as it may have, {most} ({field_of(self.client)}.processes)"
        remedies = {
            "resource temporarily unavailable": crowded,
            "can't start new thread": crowded,
            "read-only file system": f"its root is read-only: write to /tmp, with {field_of(self.client)}.scratch",
            "permission denied": "it runs as a user without rights: let every user read and execute its files",
            "exec format error": "its program is for another processor, or is a script without a first line `#!`",
            "fatal tini": (
                f"its image lacks that program, or what its first line names: see {field_of(self.client)}.command"
            ),
        }
        return next((remedy for sign, remedy in remedies.items() if sign in words), "")


def _sandbox(name: str) -> str:
    return f"{name}.sandbox"
