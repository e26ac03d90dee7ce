"""Confinement of broker containers, as the kernel reports it for their processes and not as Docker was asked for it."""

from __future__ import annotations

import os
import shutil
import socket
import stat
import uuid
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import grpc
import pytest

from broker_service.config import BrokerConfig, LinkConfig
from emulation.host.docker_host import docker_client, ensure_image
from emulation.host.journal import Journal
from emulation.host.registry import register, unregister
from emulation.host.run_paths import RunPaths
from emulation.runtimes import Launch
from emulation.runtimes.container import CONFIG_MOUNT, LOG_MOUNT, SOCKET_MOUNT, STORED_MOUNT, ContainerRuntime
from emulation.runtimes.interface import Resources

pytestmark = [
    pytest.mark.container,
    pytest.mark.skipif(os.geteuid() != 0 or shutil.which("docker") is None, reason="needs root and Docker"),
]

PORT = 7001
WITHIN = 60.0
"""Seconds."""
NAMES = ("sandbox", "broker")
MEMORY = {"/dev/shm", "/dev/mqueue"}
"""Shared memory and message queues, which count against a container's own memory."""


class Process:
    """A process as /proc shows it."""

    def __init__(self, pid: int) -> None:
        self._directory = Path(f"/proc/{pid}")

    @property
    def status(self) -> dict[str, list[str]]:
        lines = (self._directory / "status").read_text().splitlines()
        return {name: values.split() for name, _, values in (line.partition(":") for line in lines)}

    def namespace(self, kind: str) -> str:
        return str((self._directory / "ns" / kind).readlink())

    @property
    def interfaces(self) -> set[str]:
        return {line.split(":")[0].strip() for line in (self._directory / "net/dev").read_text().splitlines()[2:]}

    @property
    def listening(self) -> set[tuple[str, int]]:
        """Addresses of sockets that take connections from its network namespace, and of all that take datagrams."""
        found = set()
        for table, family, width in (("tcp", socket.AF_INET, 8), ("tcp6", socket.AF_INET6, 32)):
            for line in (self._directory / "net" / table).read_text().splitlines()[1:]:
                local, state = (line.split()[column] for column in (1, 3))
                if state == "0A":
                    address, port = local.split(":")
                    words = [bytes.fromhex(address[at : at + 8])[::-1] for at in range(0, width, 8)]
                    found.add((socket.inet_ntop(family, b"".join(words)), int(port, 16)))
        for table in ("udp", "udp6", "raw", "raw6"):
            for line in (self._directory / "net" / table).read_text().splitlines()[1:]:
                found.add((table, int(line.split()[1].split(":")[1], 16)))
        return found

    @property
    def writable(self) -> set[str]:
        """Files and directories where something is mounted that is not read-only, and which are its user's to write.

        The root is one if it is not mounted read-only: there is always some /tmp below.
        """
        found = set()
        for line in (self._directory / "mountinfo").read_text().splitlines():
            before, _, after = line.partition(" - ")
            target, options = before.split()[4:6]
            if "rw" in options.split(",") and "rw" in after.split()[2].split(","):
                place = (self._directory / "root" / target.lstrip("/")).stat()
                owned = str(place.st_uid) in self.status["Uid"] or str(place.st_gid) in self.status["Gid"]
                kind = stat.S_ISDIR(place.st_mode) or stat.S_ISREG(place.st_mode)
                if kind and (owned or place.st_mode & stat.S_IWOTH or target == "/"):
                    found.add(target)
        return found


class Containers:
    """A broker's two containers while it serves: what Docker says of them, and the first process of each."""

    def __init__(self, directory: Path, stack: ExitStack) -> None:
        paths = RunPaths.of(f"test-{uuid.uuid4().hex[:8]}", directory)
        paths.make()
        register(paths.run_id, paths.journal)
        stack.callback(unregister, paths.run_id)
        journal = Journal(paths.journal)
        stack.callback(journal.close)
        client = docker_client()
        stack.callback(client.close)
        runtime = stack.enter_context(ContainerRuntime(client, ensure_image(client).name, paths, journal))
        paths.make_socket_directories(["A"])
        namespaces = runtime.sandboxes(["A"])
        link = LinkConfig(neighbour="B", local=f"127.0.0.1:{PORT}", remote="", dial=False)
        config = BrokerConfig(
            id="A", incarnation=1, protocol="tid", links=(link,), listen=(f"unix:{runtime.files('A').socket}",)
        )
        runtime.start([Launch(config=config, config_directory=paths.variant("base") / "A")], namespaces)
        self.socket, self.user = paths.socket("A"), str(paths.users.of("A"))
        api: Any = client.api
        self.inspected = {
            name: api.inspect_container(f"brokerlab-{paths.run_id}-A{suffix}")
            for name, suffix in (("sandbox", "-sandbox"), ("broker", ""))
        }
        self.processes = {name: Process(told["State"]["Pid"]) for name, told in self.inspected.items()}


@pytest.fixture(scope="module")
def containers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Containers]:
    with ExitStack() as stack:
        yield Containers(tmp_path_factory.mktemp("containers"), stack)


@pytest.mark.parametrize("name", NAMES)
def test_it_has_no_privileges_and_cannot_get_any(containers: Containers, name: str) -> None:
    status = containers.processes[name].status
    assert status["Uid"] == status["Gid"] == [containers.user] * 4
    assert set(status["Groups"]) <= {containers.user}
    assert {kind: int(status[f"Cap{kind}"][0], 16) for kind in ("Inh", "Prm", "Eff", "Bnd", "Amb")} == dict.fromkeys(
        ("Inh", "Prm", "Eff", "Bnd", "Amb"), 0
    )
    assert status["NoNewPrivs"] == ["1"]
    assert status["Seccomp"] == ["2"], "Docker's filter of system calls"


@pytest.mark.parametrize(
    ("name", "own"), [("sandbox", set()), ("broker", {SOCKET_MOUNT, f"{LOG_MOUNT}/A.jsonl", STORED_MOUNT})]
)
def test_it_writes_to_its_socket_its_log_and_its_storage_only(containers: Containers, name: str, own: set[str]) -> None:
    assert containers.processes[name].writable == own | MEMORY
    mounted = {mount["Destination"]: mount["RW"] for mount in containers.inspected[name]["Mounts"]}
    assert mounted == ({CONFIG_MOUNT: False} | dict.fromkeys(own, True) if own else {})


@pytest.mark.parametrize("name", NAMES)
def test_its_memory_and_processes_are_bounded(containers: Containers, name: str) -> None:
    limits = containers.inspected[name]["HostConfig"]
    assert 0 < limits["Memory"] <= Resources().memory
    assert limits["MemorySwap"] == limits["Memory"], "what is swapped out is as slow as a broker never is"
    assert 0 < limits["PidsLimit"] <= Resources().processes
    assert not limits["Privileged"]


@pytest.mark.parametrize("name", NAMES)
def test_it_sees_no_network_but_the_emulated_one_and_no_processes_of_others(containers: Containers, name: str) -> None:
    process, host = containers.processes[name], Process(os.getpid())
    for kind in ("net", "pid", "ipc", "mnt", "uts"):
        assert process.namespace(kind) != host.namespace(kind), kind
    assert process.namespace("net") == containers.processes["sandbox"].namespace("net")
    assert process.interfaces == {"lo"}, "links are put there by the emulated network, which is not part of this test"


def test_a_broker_listens_on_its_links_and_its_socket_only(containers: Containers) -> None:
    with grpc.insecure_channel(f"unix:{containers.socket}") as channel:
        grpc.channel_ready_future(channel).result(timeout=WITHIN)
    assert containers.processes["broker"].listening == {("127.0.0.1", PORT)}
    assert ("127.0.0.1", PORT) not in Process(os.getpid()).listening
