"""Hosts on one machine, reached as real ones are: by ssh, over a network, each with a clock of its own.

A host is a set of namespaces: network, mounts (with a `/run` of its own, so neither Docker nor other hosts' runs are to
be seen), processes, and time, as CLOCK_MONOTONIC of real hosts counts from their own boot. Its sshd listens on the
laboratory's network alone, which leads nowhere else, and knows one key, made for the purpose. When the laboratory ends,
however it ends, so do the hosts and all that runs on them.
"""

from __future__ import annotations

import functools
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from importlib.util import cache_from_source
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from emulation.multi_host.product import ROOT, Product, pack

SSHD = "/usr/sbin/sshd"
CLOCKS = (0, 1000, -500)
"""Seconds that the hosts' monotonic clocks are ahead of this machine's."""
PATIENCE = 350.0
"""Seconds that a command over several hosts may take on a machine that does much else."""
_NETWORK = "192.168.78"
_INIT = """
mount -t tmpfs tmpfs /run
mkdir /run/sshd
ip link set lo up
echo
read -r _
"$0" -D -e -f "$1" &
wait
"""
"""The first process of a host: reaps what others leave, and waits until the host is on the network."""


@functools.cache
def obstacle() -> str | None:
    """Why there can be no laboratory here."""
    if os.geteuid() != 0:
        return "needs root"
    for program, package in ((SSHD, "openssh-server"), ("ssh", "openssh-client"), ("mnexec", "mininet")):
        if shutil.which(program) is None:
            return f"needs {program}, of the package {package}"
    for needs, command in (
        ("a kernel with time namespaces", ["unshare", "--time", "--fork", "--monotonic", "1", "true"]),
        (
            "a kernel with VXLAN",
            ["unshare", "--net", "ip", "link", "add", "trial", "type", "vxlan", "id", "1", "dstport", "0"],
        ),
    ):
        if subprocess.run(command, capture_output=True, check=False).returncode:
            return f"needs {needs}"
    return None


def copy_product(product: Product, directory: Path, source: Path = ROOT) -> None:
    """Copies the files of a product that was packed from `source`, with their bytecode, because compiling them again on
    each host would take a third of the time of the tests."""
    with tarfile.open(fileobj=io.BytesIO(product.content)) as archive:
        names = archive.getnames()
    for name in [*names, *(cache_from_source(name) for name in names if name.endswith(".py"))]:
        if (source / name).exists():
            (directory / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source / name, directory / name)


@dataclass(frozen=True, slots=True)
class LabHost:
    name: str
    address: str
    process: subprocess.Popen[bytes]
    """Outside of the host's process namespace, in its network namespace."""
    directory: Path
    """brokerlab's directory on this host."""

    def give(self, product: Product, source: Path = ROOT) -> None:
        """Gives the host a product that was packed from `source`."""
        files = self.directory / product.name
        copy_product(product, files, source)
        (files / ".complete").touch()

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Runs a command on the host, without the detour over ssh."""
        (first,) = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        entered = ["nsenter", f"--target={first}", "--net", "--mount", "--pid", "--time", "--", *command]
        return subprocess.run(entered, capture_output=True, text=True, check=False)


class Laboratory:
    """Some hosts, which have this version of brokerlab, and a place to control them from."""

    def __init__(self, directory: Path, clocks: Sequence[int]) -> None:
        """`clocks` is how many seconds ahead of this machine's each host's monotonic clock is."""
        self._directory = directory
        self._clocks = clocks
        self._product = pack()
        self._stack = ExitStack()
        self.hosts: list[LabHost] = []
        self.inventory = directory / "inventory.json"

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            stack.enter_context(self._stack)
            self._make_keys()
            self._controller = self._spawn(["unshare", "--net", "sh", "-c", "echo; exec sleep infinity"])
            self._configure(
                self._controller.pid,
                "link set lo up", "link add name switch type bridge", f"addr add {_NETWORK}.254/24 dev switch",
                "link set switch up",
            )  # fmt: skip
            for number, clock in enumerate(self._clocks, 1):
                self.hosts.append(self._make_host(number, clock))
            self.write_inventory()
            stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def inventory_of(self, hosts: Sequence[LabHost], directory: Path) -> Path:
        """Writes an inventory of some of the hosts below `directory`."""
        listed = json.loads(self.inventory.read_bytes())
        listed["all"]["hosts"] = {host.name: listed["all"]["hosts"][host.name] for host in hosts}
        file = directory / "inventory.json"
        file.write_text(json.dumps(listed))
        return file

    def write_inventory(self, **variables: dict[str, Any]) -> None:
        """With further variables of hosts, by name."""
        common = {
            "ansible_user": "root",
            "ansible_ssh_private_key_file": str(self._directory / "key"),
            "ansible_ssh_common_args": f"-o UserKnownHostsFile={self._directory / 'known_hosts'} -o IdentitiesOnly=yes",
            "ansible_python_interpreter": sys.executable,
            "brokerlab_python": sys.executable,
        }
        hosts = {
            host.name: {
                "ansible_host": host.address,
                "brokerlab_directory": str(host.directory),
                **variables.get(host.name, {}),
            }
            for host in self.hosts
        }
        self.inventory.write_text(json.dumps({"all": {"hosts": hosts, "vars": common}}))

    def controlled(self, *command: str | Path, root: Path = ROOT) -> subprocess.Popen[str]:
        """Starts a command of the brokerlab in `root` at the place that controls the hosts."""
        brokerlab = [sys.executable, "-m", "command_line", *map(str, command)]
        return subprocess.Popen(
            ["nsenter", f"--net=/proc/{self._controller.pid}/ns/net", "--", *brokerlab],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            env=os.environ | {"COLUMNS": "200"}, cwd=root,
        )  # fmt: skip

    def control(self, *command: str | Path, root: Path = ROOT) -> tuple[int, str]:
        """Runs a command of the brokerlab in `root` there; returns its exit code and output."""
        process = self.controlled(*command, root=root)
        try:
            said, _ = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
        return process.returncode, said

    def _make_keys(self) -> None:
        for name in ("key", "host_key"):
            command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(self._directory / name)]
            subprocess.run(command, check=True)
        host_key = (self._directory / "host_key.pub").read_text().split()[:2]
        known = [" ".join([f"{_NETWORK}.{number}", *host_key]) for number in range(1, len(self._clocks) + 1)]
        (self._directory / "known_hosts").write_text("\n".join([*known, ""]))

    def _make_host(self, number: int, clock: int) -> LabHost:
        address, directory = f"{_NETWORK}.{number}", self._directory / f"h{number}"
        config = self._directory / f"sshd-{number}.conf"
        config.write_text(
            f"ListenAddress {address}\nHostKey {self._directory}/host_key\nPidFile none\nUsePAM no\n"
            f"AuthorizedKeysFile {self._directory}/key.pub\nStrictModes no\nPasswordAuthentication no\n"
            "PermitRootLogin prohibit-password\nSubsystem sftp internal-sftp\nMaxSessions 100\n"
        )
        namespaces = ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--time"]
        process = self._spawn([*namespaces, "--monotonic", str(clock), "bash", "-euc", _INIT, SSHD, str(config)])
        cable = f"link add name eth0 netns {process.pid} type veth peer name port{number} netns {self._controller.pid}"
        subprocess.run(["ip", *cable.split()], check=True)
        self._configure(process.pid, f"addr add {address}/24 dev eth0", "link set eth0 up")
        self._configure(self._controller.pid, f"link set port{number} master switch up")
        assert process.stdin is not None
        process.stdin.write(b"\n")
        process.stdin.flush()
        host = LabHost(f"h{number}", address, process, directory)
        host.give(self._product)
        return host

    def _spawn(self, command: list[str]) -> subprocess.Popen[bytes]:
        """Starts what holds namespaces; it has said that they are there. It ends with this process at the latest."""
        process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=(self._directory / "stderr.log").open("ab"), start_new_session=True,
        )  # fmt: skip
        self._stack.callback(process.communicate)
        self._stack.callback(process.kill)
        assert process.stdout is not None
        assert process.stdout.readline() == b"\n", (self._directory / "stderr.log").read_text()
        return process

    @staticmethod
    def _configure(process: int, *commands: str) -> None:
        entered = ["nsenter", f"--net=/proc/{process}/ns/net", "--", "ip", "-batch", "-"]
        subprocess.run(entered, input="\n".join([*commands, ""]), text=True, check=True)


def left_on(host: LabHost) -> list[str]:
    """Processes of runs, interfaces, directories and shares that a run has left on a host."""
    look = """
        for process in /proc/[0-9]*; do
            grep -qsz ^BROKERLAB_RUN= $process/environ && echo "$process $(tr '\\0' ' ' < $process/cmdline)"
        done
        ls -A /run/brokerlab 2>/dev/null
        ip -brief link | grep -v -e ^lo -e ^eth0
    """
    shares = host.directory / "shares"
    return [*host.run("bash", "-c", look).stdout.splitlines(), *(str(share) for share in shares.glob("*"))]
