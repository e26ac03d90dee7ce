"""`brokerlab doctor`: the capabilities of this host, and for each missing piece its cost and its remedy.

Capabilities are tried instead of concluded from version numbers where that is possible: kernel features are tried in a
network namespace that ends with the trial, so that nothing is left.
"""

from __future__ import annotations

import enum
import os
import platform
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from emulation.host.room import this_host
from emulation.runtimes.process import closed_to_brokers
from record.errors import HostError
from record.extras import EMULATION, EXTRAS, Extra
from record.installation import make
from record.manifest import MODELLED, RungChoice

_TRIAL_PATIENCE = 10.0
"""Seconds that a trial may take."""
_ENOUGH_CPUS, _ENOUGH_MEMORY, _ENOUGH_DISK = 2, 4 << 30, 2 << 30
"""The requirements of the quickstart: CPUs, bytes of memory, bytes of disk."""
_OLDEST_JAVA = 17


class FindingStatus(enum.Enum):
    """The status of a piece of the host; the value is its mark in the report."""

    GOOD = ("ok", "green")
    LIMITED = ("limited", "yellow")
    """Runs go without it, at a cost."""
    MISSING = ("missing", "red")
    """The runtime or link driver that needs it does not work."""
    UNKNOWN = ("unknown", "yellow")
    """Whatever the state is, it cannot be found out, because another piece is missing, which has the remedy."""


@dataclass(frozen=True, slots=True)
class HostFinding:
    """One piece of the host."""

    subject: str
    status: FindingStatus
    found: str
    cost: str = ""
    """The cost of its absence; empty if it is present."""
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class HostExamination:
    """All findings, and the runtime and link driver that `auto` would take."""

    findings: tuple[HostFinding, ...]
    runtime: RungChoice
    links: RungChoice


def report(examination: HostExamination, console: Console) -> None:
    """Prints what was found."""
    console.print(_table(examination.findings))
    for finding in examination.findings:
        if finding.status not in (FindingStatus.GOOD, FindingStatus.UNKNOWN):
            _advise(console, finding)
    console.print()
    for rung, choice in (("runtime", examination.runtime), ("links", examination.links)):
        console.print(Text.assemble(f"auto takes {rung} ", (choice.name, "bold"), f": {choice.reason}"))


def examine() -> HostExamination:
    """Examines every piece of the host that runs need."""
    privileges = _privileges()
    docker, image = _docker()
    findings = (
        privileges,
        _confinement(),
        *(_kernel_feature(feature, privileges) for feature in KERNEL_FEATURES),
        _control_groups(),
        *(_extra(extra) for extra in EXTRAS),
        docker,
        image,
        _mininet(),
        _java(),
        *(_tool(tool) for tool in TOOLS),
        _pressure(),
        *_size(),
    )
    links = _links(findings)
    return HostExamination(findings, _runtime(findings, links), links)


# --- pieces that runs need


def _privileges() -> HostFinding:
    if os.geteuid() != 0:
        cost = "no network namespaces, so simulated runs only"
        return HostFinding(
            "privileges", FindingStatus.MISSING, f"user {os.geteuid()}", cost, "run it as root, or with sudo"
        )
    if obstacle := _obstacle(["unshare", "-n", "ip", "link", "set", "lo", "up"]):
        cost = "no network namespaces, so simulated runs only"
        remedy = "give this container CAP_SYS_ADMIN and CAP_NET_ADMIN, or leave it"
        return HostFinding("privileges", FindingStatus.MISSING, obstacle, cost, remedy)
    return HostFinding("privileges", FindingStatus.GOOD, "root, with network namespaces")


def _confinement() -> HostFinding:
    """The confinement of brokers that are plain processes."""
    subject = "confinement of processes"
    if (closed := closed_to_brokers()) is not None:
        return HostFinding(
            subject, FindingStatus.LIMITED, f"not every user may enter {closed}",
            "brokers of the process runtime may read every file of this host, because they must read their own program",
            f"move this checkout below directories that every user may enter (`chmod o+x {closed}`), or use containers",
        )  # fmt: skip
    return HostFinding(
        subject, FindingStatus.GOOD, "a user for each broker; files that all may read and all processes are seen"
    )


@dataclass(frozen=True, slots=True)
class KernelFeature:
    """A feature of the kernel, and a command that succeeds if it works."""

    name: str
    trial: tuple[str, ...]
    status: FindingStatus
    """The status of a host without it."""
    cost: str
    module: str


KERNEL_FEATURES = (
    KernelFeature(
        "kernel: TAP",
        ("ip", "tuntap", "add", "dev", "trial", "mode", "tap"),
        FindingStatus.LIMITED,
        "no userspace links",
        "tun",
    ),
    KernelFeature(
        "kernel: veth",
        ("ip", "link", "add", "trial-a", "type", "veth", "peer", "name", "trial-b"),
        FindingStatus.LIMITED,
        "no netem links; the relay's userspace links do without it",
        "veth",
    ),
    KernelFeature(
        "kernel: HTB",
        ("tc", "qdisc", "add", "dev", "lo", "root", "handle", "1:", "htb"),
        FindingStatus.LIMITED,
        "no netem links; the relay's userspace links do without it",
        "sch_htb",
    ),
    KernelFeature(
        "kernel: netem",
        ("tc", "qdisc", "add", "dev", "lo", "root", "netem", "delay", "1ms"),
        FindingStatus.LIMITED,
        "no netem links; the relay's userspace links take some microseconds of CPU a frame instead",
        "sch_netem",
    ),
)


def _kernel_feature(feature: KernelFeature, privileges: HostFinding) -> HostFinding:
    if privileges.status is FindingStatus.MISSING:
        return HostFinding(feature.name, FindingStatus.UNKNOWN, "cannot be tried without privileges")
    obstacle = _obstacle(["unshare", "-n", *feature.trial])
    if obstacle is None:
        return HostFinding(feature.name, FindingStatus.GOOD, "works")
    remedy = f"modprobe {feature.module}, on a kernel that has the module; a distribution's standard kernel does"
    return HostFinding(feature.name, feature.status, obstacle, feature.cost, remedy)


def _control_groups() -> HostFinding:
    root = Path("/sys/fs/cgroup")
    if (root / "cgroup.controllers").exists():
        version, there = "version 2", (root / "cgroup.controllers").read_text().split()
    else:
        version, there = "version 1", [path.name for path in root.iterdir()] if root.is_dir() else []
    lacking = [name for name in ("cpu", "memory", "pids") if name not in there]
    if not there:
        cost = "no containers, and no limits on brokers"
        remedy = f"{make('setup')}; it mounts them where the kernel has them"
        return HostFinding("control groups", FindingStatus.LIMITED, "none mounted", cost, remedy)
    if lacking:
        cost = f"brokers run without limits on {', '.join(lacking)}"
        remedy = "a kernel with these controllers, enabled at the root"
        return HostFinding(
            "control groups", FindingStatus.LIMITED, f"{version}, without {', '.join(lacking)}", cost, remedy
        )
    return HostFinding("control groups", FindingStatus.GOOD, version)


def _extra(extra: Extra) -> HostFinding:
    """The Python packages of an extra."""
    subject = f"Python: {extra.name}"
    if (module := extra.missing()) is None:
        return HostFinding(subject, FindingStatus.GOOD, "installed")
    return HostFinding(
        subject, FindingStatus.LIMITED, f"{module} is not installed", f"no {extra.purpose}", extra.remedy
    )


def _docker() -> tuple[HostFinding, HostFinding]:
    """The daemon and the broker image."""
    cost = "no container runtime; brokers run as plain processes"
    try:
        EMULATION.require()
        from emulation.host.docker_host import docker_client, find_image  # noqa: PLC0415 - imports an extra

        client = docker_client()
    except HostError as error:
        remedy = f"{make('setup')}; as root, that installs and starts it"
        return (
            HostFinding("Docker", FindingStatus.LIMITED, str(error).partition(";")[0], cost, remedy),
            HostFinding("broker image", FindingStatus.UNKNOWN, "unknown without Docker"),
        )
    daemon = HostFinding("Docker", FindingStatus.GOOD, str(client.version().get("Version", "")))
    try:
        image = find_image(client)
    except HostError as error:
        return daemon, HostFinding("broker image", FindingStatus.LIMITED, str(error), cost, make("setup"))
    if image is None:
        cost = "the next run builds it first: seconds, or a minute where the base is not there either"
        return daemon, HostFinding(
            "broker image", FindingStatus.LIMITED, "not built for this tree", cost, make("image")
        )
    return daemon, HostFinding("broker image", FindingStatus.GOOD, image.name)


def _mininet() -> HostFinding:
    cost = "no emulated nodes, so simulated runs only"
    if shutil.which("mnexec") is None:
        return HostFinding(
            "Mininet", FindingStatus.MISSING, "no mnexec", cost, f"apt-get install mininet, or {make('setup')}"
        )
    try:
        from mininet.net import VERSION  # noqa: PLC0415 - that it can be imported is what is examined
    except ImportError as error:
        return HostFinding("Mininet", FindingStatus.MISSING, str(error), cost, make("setup"))
    return HostFinding("Mininet", FindingStatus.GOOD, f"{VERSION}, mnexec at {shutil.which('mnexec')}")


def _java() -> HostFinding:
    cost = "no Spark, so analysis in plain Python only (--no-spark)"
    remedy = f"apt-get install default-jre-headless, or {make('setup')}"
    home = os.environ.get("JAVA_HOME")
    java = f"{home}/bin/java" if home else "java"
    try:
        output = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    except OSError as error:
        return HostFinding("Java", FindingStatus.LIMITED, f"{java}: {error.strerror}", cost, remedy)
    version = re.search(r'version "((\d+)[^"]*)"', output)
    if version is None or int(version[2]) < _OLDEST_JAVA:
        found = version[1] if version else output.strip().partition("\n")[0]
        return HostFinding("Java", FindingStatus.LIMITED, f"{found}, older than {_OLDEST_JAVA}", cost, remedy)
    return HostFinding("Java", FindingStatus.GOOD, version[1])


# --- pieces that runs can go without


@dataclass(frozen=True, slots=True)
class Tool:
    """A program, by any of its names, that only some commands need."""

    name: str
    programs: tuple[str, ...]
    cost: str
    package: str


TOOLS = (
    Tool("ping", ("ping",), "no round trips in `make test`", "iputils-ping"),
    Tool("debootstrap", ("debootstrap",), "no broker image where no image registry answers", "debootstrap"),
    Tool("docker-compose", ("docker-compose",), "no `make smoke`", "docker-compose"),
    Tool("user-mode-linux", ("linux.uml", "linux"), "no test of netem links in a guest", "user-mode-linux"),
)


def _tool(tool: Tool) -> HostFinding:
    for program in tool.programs:
        if (path := shutil.which(program)) is not None:
            return HostFinding(tool.name, FindingStatus.GOOD, path)
    remedy = f"apt-get install {tool.package}, or {make('setup')}"
    return HostFinding(tool.name, FindingStatus.LIMITED, "not found", tool.cost, remedy)


def _pressure() -> HostFinding:
    try:
        Path("/proc/pressure/memory").read_bytes()
    except OSError:
        cost = "fidelity is judged without the time that tasks waited for memory"
        return HostFinding(
            "memory pressure",
            FindingStatus.LIMITED,
            "not reported",
            cost,
            "a kernel with CONFIG_PSI, booted with psi=1",
        )
    return HostFinding("memory pressure", FindingStatus.GOOD, "reported by the kernel")


def _size() -> tuple[HostFinding, ...]:
    """CPUs, memory and disk compared with the requirements of the quickstart."""
    room, disk = this_host(), shutil.disk_usage(Path.cwd()).free
    memory, cpus = room.memory, room.processors
    cost = "large overlays will be judged DEGRADED or INVALID"
    return (
        _enough("CPUs", cpus, _ENOUGH_CPUS, f"{cpus} ({platform.machine()}, Python {platform.python_version()})", cost),
        _enough("memory", memory, _ENOUGH_MEMORY, f"{memory / (1 << 30):.1f} GiB available", cost),
        _enough("disk", disk, _ENOUGH_DISK, f"{disk / (1 << 30):.1f} GiB free here", "long runs may fill it"),
    )


def _enough(subject: str, there: int, wanted: int, found: str, cost: str) -> HostFinding:
    if there >= wanted:
        return HostFinding(subject, FindingStatus.GOOD, found)
    return HostFinding(subject, FindingStatus.LIMITED, found, cost, "fewer brokers, a lower rate, or a larger host")


# --- the choices of `auto`


def _runtime(findings: tuple[HostFinding, ...], links: RungChoice) -> RungChoice:
    if links == MODELLED:
        lacking = ", ".join(finding.subject for finding in findings if finding.status is FindingStatus.MISSING)
        obstacle = f"this host lacks {lacking}" if lacking else "no link driver works here"
        return RungChoice("simulated", f"neither the container nor the process runtime works here: {obstacle}")
    docker = next(finding for finding in findings if finding.subject == "Docker")
    if docker.status is FindingStatus.GOOD:
        return RungChoice("container", "the highest rung, and it works here")
    return RungChoice("process", f"the container runtime does not work here: {docker.found}")


def _links(findings: tuple[HostFinding, ...]) -> RungChoice:
    if _lacks(findings, "privileges") or _lacks(findings, "Mininet"):
        return MODELLED
    from emulation.runtimes.ladder import choose_links  # noqa: PLC0415 - loads Mininet, which may be what is missing

    try:
        return choose_links()
    except HostError:
        return MODELLED


def _lacks(findings: tuple[HostFinding, ...], subject: str) -> bool:
    return any(finding.subject == subject and finding.status is FindingStatus.MISSING for finding in findings)


def _obstacle(command: list[str]) -> str | None:
    """The first line of a command's error; None if it succeeds."""
    try:
        result = subprocess.run(command, capture_output=True, text=True, timeout=_TRIAL_PATIENCE, check=False)
    except OSError as error:
        return f"{command[0]}: {error.strerror}"
    except subprocess.TimeoutExpired:
        return f"{command[0]} does not return"
    if result.returncode == 0:
        return None
    output = (result.stderr or result.stdout).strip().partition("\n")[0].removeprefix("Error: ")
    return output or f"exit code {result.returncode}"


# --- output


def _table(findings: tuple[HostFinding, ...]) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False)
    for finding in findings:
        mark, style = finding.status.value
        table.add_row(Text(mark, style=style), Text(finding.subject), Text(finding.found))
    return table


def _advise(console: Console, finding: HostFinding) -> None:
    _, style = finding.status.value
    console.print()
    console.print(Text.assemble((finding.subject, style), ": ", finding.cost))
    console.print(Padding(Text(f"to get it: {finding.remedy}"), (0, 0, 0, 4)))
