"""Brokers of the kit in Docker containers, as unprivileged as a run's.

One more container, the *sandbox*, only holds the network that all of them share, which has a loopback interface and
nothing else; the kit makes its links there.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import shutil
import signal
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count
from typing import Any

import docker
import docker.errors
from docker.types import LogConfig, Mount

from emulation.host.registry import ROOT, register, unregister
from emulation.host.users import BrokerUsers
from emulation.network.namespaces import in_namespace
from emulation.planning.plan import make_run_id
from emulation.runtimes.containers import RUN_LABEL, docker_errors
from record.errors import HostError
from studies.broker_kit.configuration import CONTRACT
from studies.broker_kit.programs import Ending, Files, last_line, resident

_CONFIG, _SOCKET, _LOG, _STORED, _SCRATCH = (
    "/etc/brokerlab", "/run/brokerlab", "/logs", "/var/lib/brokerlab", "/tmp",  # noqa: S108 - within containers
)  # fmt: skip
_LOOK_INTERVAL = 0.02
_LAST_LINES = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageProgram:
    """An image, and what its containers get."""

    image: str
    command: Sequence[str] = ()
    """Empty: the image's own entrypoint."""
    environment: Mapping[str, str]
    memory: int = 512 << 20
    processes: int = 64
    scratch: int = 0
    """Bytes of a file system in memory at /tmp; none when 0."""


@contextmanager
def container_host(client: docker.DockerClient, sandbox: str, program: ImageProgram) -> Iterator[ContainerHost]:
    """A host of containers. What a kit leaves that was killed is removed by `brokerlab clean`, as a run's is.

    `sandbox` is brokerlab's own image. Raises `HostError` for an image that is not there, and where Docker refuses.
    """
    run_id = make_run_id("kit", datetime.now(UTC), secrets.token_hex(2))
    register(run_id, ROOT / run_id / "journal")
    host = ContainerHost(client, run_id, program)
    try:
        host.begin(sandbox)
        yield host
    finally:
        host.end()
        unregister(run_id)


class ContainerHost:
    """Starts brokers in containers. Every call needs root."""

    confined = True

    def __init__(self, client: docker.DockerClient, run_id: str, program: ImageProgram) -> None:
        self._api: Any = client.api
        self._run_id = run_id
        self._program = program
        self._directory = ROOT / run_id
        self._users = BrokerUsers(run_id)
        self._names: list[str] = []
        self._numbers = count(1)
        self._sandbox = f"brokerlab-{run_id}-sandbox"
        self._sandbox_pid = 0
        self._command: list[str] = list(program.command)

    def begin(self, sandbox: str) -> None:
        """Makes the sandbox."""
        try:
            image = self._api.inspect_image(self._program.image)
        except docker.errors.ImageNotFound:
            raise HostError(
                f"--image {self._program.image}: there is no such image on this host; build it, or `docker pull` it"
            ) from None
        if not self._command:
            own = image["Config"]
            self._command = list(own.get("Entrypoint") or own.get("Cmd") or ())
        if not self._command:
            raise HostError(
                f"--image {self._program.image}: the image has no entrypoint; give it one, or name --command"
            )
        self._create(
            self._sandbox, sandbox, ["sleep", "infinity"], self._host_config(network_mode="none"), network_disabled=True
        )
        self._sandbox_pid = self._pid(self._sandbox)

    def files(self, broker: str) -> Files:
        place, user = self._directory / broker, self._users.of(broker)
        for name in ("config", "run", "stored"):
            directory = place / name
            directory.mkdir(parents=True, exist_ok=True)
            if name != "config":
                os.chown(directory, user, user)
        log = place / "log.jsonl"
        log.touch()
        os.chown(log, user, user)
        return Files(
            f"{_SOCKET}/broker.sock", f"{_LOG}/{broker}.jsonl", f"{_STORED}/state", place / "run" / "broker.sock", log
        )

    async def start(self, broker: str, configuration: str) -> ContainerProgram:
        files = self.files(broker)
        place, user = self._directory / broker, self._users.of(broker)
        (place / "config" / "broker.json").write_text(configuration, encoding="utf-8")
        mounts = [
            Mount(_CONFIG, str(place / "config"), type="bind", read_only=True),
            Mount(_SOCKET, str(place / "run"), type="bind"),
            Mount(files.log, str(files.log_here), type="bind"),
            Mount(_STORED, str(place / "stored"), type="bind"),
        ]
        program = self._program
        config = self._host_config(
            network_mode=f"container:{self._sandbox}", mounts=mounts,
            tmpfs={_SCRATCH: f"size={program.scratch},mode=1777,exec"} if program.scratch else None,
        )  # fmt: skip
        name = f"brokerlab-{self._run_id}-{broker}-{next(self._numbers)}"
        command = [*self._command, f"{_CONFIG}/broker.json"]
        environment = {**program.environment, "BROKERLAB_CONTRACT": str(CONTRACT), "BROKERLAB_RUN": self._run_id}
        await asyncio.to_thread(
            self._create, name, program.image, command, config, user=f"{user}:{user}", environment=environment
        )
        return ContainerProgram(self._api, name, await asyncio.to_thread(self._pid, name))

    def make_socket(self) -> socket.socket:
        return in_namespace(self._sandbox_pid, lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM))

    async def close(self) -> None:
        await asyncio.to_thread(self.end)

    def end(self) -> None:
        """Removes all containers, with whatever runs in them."""
        for name in reversed(self._names):
            try:
                self._api.remove_container(name, force=True, v=True)
            except docker.errors.NotFound:
                continue
        self._names.clear()
        for place in self._directory.glob("*/"):
            shutil.rmtree(place, ignore_errors=True)

    def _host_config(self, **options: object) -> object:
        return self._api.create_host_config(
            read_only=True, cap_drop=["ALL"], security_opt=["no-new-privileges"], pids_limit=self._program.processes,
            mem_limit=self._program.memory, memswap_limit=self._program.memory,
            log_config=LogConfig(type="json-file", config={"max-size": "1m", "max-file": "1"}), **options,
        )  # fmt: skip

    def _create(self, name: str, image: str, command: list[str], host_config: object, **options: object) -> None:
        self._names.append(name)
        with docker_errors(f"start container {name}"):
            self._api.create_container(
                image, entrypoint=command[:1], command=command[1:], name=name, detach=True, host_config=host_config,
                labels={"brokerlab": "1", RUN_LABEL: self._run_id}, **options,
            )  # fmt: skip
            self._api.start(name)

    def _pid(self, name: str) -> int:
        with docker_errors(f"inspect container {name}"):
            return int(self._api.inspect_container(name)["State"]["Pid"])


class ContainerProgram:
    """A broker in a container."""

    def __init__(self, api: Any, name: str, pid: int) -> None:
        self._api = api
        self._name = name
        self._pid = pid
        self._ending: Ending | None = None

    async def ending(self, within: float) -> Ending | None:
        clock = asyncio.get_running_loop().time
        deadline = clock() + within
        while self._ending is None:
            if not self._pid or not resident(self._pid):
                self._ending = await asyncio.to_thread(self._ask)
            elif clock() >= deadline:
                return None
            else:
                await asyncio.sleep(_LOOK_INTERVAL)
        return self._ending

    def signal(self, number: signal.Signals) -> None:
        try:
            os.kill(self._pid, number)
        except ProcessLookupError:
            return

    def memory(self) -> int:
        return resident(self._pid)

    def left_over(self) -> Sequence[str]:
        """A container's processes end with its first one."""
        return ()

    def _ask(self) -> Ending:
        code = int(self._api.wait(self._name)["StatusCode"])
        written: bytes = self._api.logs(self._name, stdout=True, stderr=True, tail=_LAST_LINES)
        return Ending(code if code <= 128 else 128 - code, last_line(written))
