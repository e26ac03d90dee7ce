"""`brokerlab doctor`: what this host can run, what each missing piece costs, and how to get it.

Nothing is concluded from version numbers where it can be tried: kernel features are tried in a network namespace that
ends with the trial, so that nothing is left behind.
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

from emulation.host.docker_host import docker_client, find_image
from record.errors import HostError
from record.manifest import MODELLED, Choice

SETUP = "make setup"
_TRIAL_PATIENCE = 10.0
"""Seconds that a trial may take."""
_ENOUGH_CPUS, _ENOUGH_MEMORY, _ENOUGH_DISK = 2, 4 << 30, 2 << 30
"""What the quickstart asks of a host: CPUs, bytes of memory, bytes of disk."""
_OLDEST_JAVA = 17


class Standing(enum.Enum):
    """How a piece of the host stands; the value is how the report marks it."""

    GOOD = ("ok", "green")
    LIMITED = ("limited", "yellow")
    """Runs do without it, at a cost."""
    MISSING = ("missing", "red")
    """The rung that needs it cannot be taken."""
    UNKNOWN = ("unknown", "yellow")
    """It cannot be told for lack of another piece, which has the remedy."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One piece of the host."""

    subject: str
    standing: Standing
    found: str
    cost: str = ""
    """What its absence costs; empty when it is there."""
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class Examination:
    """All findings, and the rungs that `auto` would take."""

    findings: tuple[Finding, ...]
    runtime: Choice
    links: Choice


def report(console: Console) -> int:
    """Examines the host and prints the result. Returns 0: simulated runs, at least, can be made anywhere."""
    examination = examine()
    console.print(_table(examination.findings))
    for finding in examination.findings:
        if finding.standing not in (Standing.GOOD, Standing.UNKNOWN):
            _advise(console, finding)
    console.print()
    for rung, choice in (("runtime", examination.runtime), ("links", examination.links)):
        console.print(Text.assemble(f"auto takes {rung} ", (choice.name, "bold"), f": {choice.reason}"))
    return 0


def examine() -> Examination:
    """Looks at every piece of the host that a run stands on."""
    privileges = _privileges()
    docker, image = _docker()
    findings = (
        privileges,
        *(_kernel_feature(feature, privileges) for feature in KERNEL_FEATURES),
        _control_groups(),
        docker,
        image,
        _mininet(),
        _java(),
        *(_tool(tool) for tool in TOOLS),
        _pressure(),
        *_size(),
    )
    links = _links(findings)
    return Examination(findings, _runtime(findings, links), links)


# --- what runs stand on


def _privileges() -> Finding:
    if os.geteuid() != 0:
        cost = "no network namespaces, so simulated runs only"
        return Finding("privileges", Standing.MISSING, f"user {os.geteuid()}", cost, "run it as root, or with sudo")
    if obstacle := _obstacle(["unshare", "-n", "ip", "link", "set", "lo", "up"]):
        cost = "no network namespaces, so simulated runs only"
        remedy = "give this container CAP_SYS_ADMIN and CAP_NET_ADMIN, or leave it"
        return Finding("privileges", Standing.MISSING, obstacle, cost, remedy)
    return Finding("privileges", Standing.GOOD, "root, with network namespaces")


@dataclass(frozen=True, slots=True)
class KernelFeature:
    """Something of the kernel's that a command shows to work."""

    name: str
    trial: tuple[str, ...]
    standing: Standing
    """How the host stands without it."""
    cost: str
    module: str


KERNEL_FEATURES = (
    KernelFeature(
        "kernel: TAP",
        ("ip", "tuntap", "add", "dev", "trial", "mode", "tap"),
        Standing.LIMITED,
        "no userspace links",
        "tun",
    ),
    KernelFeature(
        "kernel: veth",
        ("ip", "link", "add", "trial-a", "type", "veth", "peer", "name", "trial-b"),
        Standing.LIMITED,
        "no netem links; the relay's userspace links do without it",
        "veth",
    ),
    KernelFeature(
        "kernel: HTB",
        ("tc", "qdisc", "add", "dev", "lo", "root", "handle", "1:", "htb"),
        Standing.LIMITED,
        "no netem links; the relay's userspace links do without it",
        "sch_htb",
    ),
    KernelFeature(
        "kernel: netem",
        ("tc", "qdisc", "add", "dev", "lo", "root", "netem", "delay", "1ms"),
        Standing.LIMITED,
        "no netem links; the relay's userspace links take some microseconds of CPU a frame instead",
        "sch_netem",
    ),
)


def _kernel_feature(feature: KernelFeature, privileges: Finding) -> Finding:
    if privileges.standing is Standing.MISSING:
        return Finding(feature.name, Standing.UNKNOWN, "cannot be tried without privileges")
    obstacle = _obstacle(["unshare", "-n", *feature.trial])
    if obstacle is None:
        return Finding(feature.name, Standing.GOOD, "works")
    remedy = f"modprobe {feature.module}, on a kernel that has the module; a distribution's standard kernel does"
    return Finding(feature.name, feature.standing, obstacle, feature.cost, remedy)


def _control_groups() -> Finding:
    root = Path("/sys/fs/cgroup")
    if (root / "cgroup.controllers").exists():
        version, there = "version 2", (root / "cgroup.controllers").read_text().split()
    else:
        version, there = "version 1", [path.name for path in root.iterdir()] if root.is_dir() else []
    lacking = [name for name in ("cpu", "memory", "pids") if name not in there]
    if not there:
        cost = "no containers, and no limits on brokers"
        remedy = "make setup mounts them where the kernel has them"
        return Finding("control groups", Standing.LIMITED, "none mounted", cost, remedy)
    if lacking:
        cost = f"brokers run without limits on {', '.join(lacking)}"
        remedy = "a kernel with these controllers, enabled at the root"
        return Finding("control groups", Standing.LIMITED, f"{version}, without {', '.join(lacking)}", cost, remedy)
    return Finding("control groups", Standing.GOOD, version)


def _docker() -> tuple[Finding, Finding]:
    """The daemon and the broker image."""
    cost = "no container runtime; brokers run as plain processes"
    try:
        client = docker_client()
    except HostError as error:
        remedy = f"{SETUP}, as root, installs and starts it"
        return (
            Finding("Docker", Standing.LIMITED, str(error).partition(";")[0], cost, remedy),
            Finding("broker image", Standing.UNKNOWN, "cannot be told without Docker"),
        )
    daemon = Finding("Docker", Standing.GOOD, str(client.version().get("Version", "")))
    try:
        image = find_image(client)
    except HostError as error:
        return daemon, Finding("broker image", Standing.LIMITED, str(error), cost, SETUP)
    if image is None:
        cost = "the next run builds it first: seconds, or a minute where the base is not there either"
        return daemon, Finding("broker image", Standing.LIMITED, "not built for this tree", cost, "make image")
    return daemon, Finding("broker image", Standing.GOOD, image.name)


def _mininet() -> Finding:
    cost = "no emulated nodes, so simulated runs only"
    if shutil.which("mnexec") is None:
        return Finding("Mininet", Standing.MISSING, "no mnexec", cost, f"apt-get install mininet, or {SETUP}")
    try:
        from mininet.net import VERSION  # noqa: PLC0415 - that it can be imported is what is examined
    except ImportError as error:
        return Finding("Mininet", Standing.MISSING, str(error), cost, SETUP)
    return Finding("Mininet", Standing.GOOD, f"{VERSION}, mnexec at {shutil.which('mnexec')}")


def _java() -> Finding:
    cost = "no Spark, so analysis in plain Python only (--no-spark)"
    remedy = f"apt-get install default-jre-headless, or {SETUP}"
    home = os.environ.get("JAVA_HOME")
    java = f"{home}/bin/java" if home else "java"
    try:
        said = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    except OSError as error:
        return Finding("Java", Standing.LIMITED, f"{java}: {error.strerror}", cost, remedy)
    version = re.search(r'version "((\d+)[^"]*)"', said)
    if version is None or int(version[2]) < _OLDEST_JAVA:
        found = version[1] if version else said.strip().partition("\n")[0]
        return Finding("Java", Standing.LIMITED, f"{found}, older than {_OLDEST_JAVA}", cost, remedy)
    return Finding("Java", Standing.GOOD, version[1])


# --- what runs can do without


@dataclass(frozen=True, slots=True)
class Tool:
    """A program, by any of its names, that only part of the testbed needs."""

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


def _tool(tool: Tool) -> Finding:
    for program in tool.programs:
        if (path := shutil.which(program)) is not None:
            return Finding(tool.name, Standing.GOOD, path)
    remedy = f"apt-get install {tool.package}, or {SETUP}"
    return Finding(tool.name, Standing.LIMITED, "not found", tool.cost, remedy)


def _pressure() -> Finding:
    try:
        Path("/proc/pressure/cpu").read_bytes()
    except OSError:
        cost = "fidelity is judged without how long tasks waited for a CPU"
        return Finding(
            "CPU pressure", Standing.LIMITED, "not told", cost, "a kernel with CONFIG_PSI, booted with psi=1"
        )
    return Finding("CPU pressure", Standing.GOOD, "told by the kernel")


def _size() -> tuple[Finding, ...]:
    """CPUs, memory and disk against what the quickstart asks."""
    memory = _available_memory()
    disk = shutil.disk_usage(Path.cwd()).free
    cpus = len(os.sched_getaffinity(0))
    cost = "large overlays will be judged DEGRADED or INVALID"
    return (
        _enough("CPUs", cpus, _ENOUGH_CPUS, f"{cpus} ({platform.machine()}, Python {platform.python_version()})", cost),
        _enough("memory", memory, _ENOUGH_MEMORY, f"{memory / (1 << 30):.1f} GiB available", cost),
        _enough("disk", disk, _ENOUGH_DISK, f"{disk / (1 << 30):.1f} GiB free here", "long runs may fill it"),
    )


def _available_memory() -> int:
    """Bytes that new processes can have (proc(5), MemAvailable)."""
    facts = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
    return int(facts["MemAvailable"].split()[0]) << 10


def _enough(subject: str, there: int, wanted: int, found: str, cost: str) -> Finding:
    if there >= wanted:
        return Finding(subject, Standing.GOOD, found)
    return Finding(subject, Standing.LIMITED, found, cost, "fewer brokers, a lower rate, or a larger host")


# --- the rungs


def _runtime(findings: tuple[Finding, ...], links: Choice) -> Choice:
    if links == MODELLED:
        lacking = ", ".join(finding.subject for finding in findings if finding.standing is Standing.MISSING)
        obstacle = f"this host lacks {lacking}" if lacking else "no link driver works here"
        return Choice("simulated", f"neither the container nor the process runtime works here: {obstacle}")
    docker = next(finding for finding in findings if finding.subject == "Docker")
    if docker.standing is Standing.GOOD:
        return Choice("container", "the highest rung, and it works here")
    return Choice("process", f"the container runtime does not work here: {docker.found}")


def _links(findings: tuple[Finding, ...]) -> Choice:
    if _lacks(findings, "privileges") or _lacks(findings, "Mininet"):
        return MODELLED
    from emulation.runtimes.ladder import choose_links  # noqa: PLC0415 - loads Mininet, which may be what is missing

    try:
        return choose_links()
    except HostError:
        return MODELLED


def _lacks(findings: tuple[Finding, ...], subject: str) -> bool:
    return any(finding.subject == subject and finding.standing is Standing.MISSING for finding in findings)


def _obstacle(command: list[str]) -> str | None:
    """Why a command does not work here, in its own first line; None when it works."""
    try:
        result = subprocess.run(command, capture_output=True, text=True, timeout=_TRIAL_PATIENCE, check=False)
    except OSError as error:
        return f"{command[0]}: {error.strerror}"
    except subprocess.TimeoutExpired:
        return f"{command[0]} does not return"
    if result.returncode == 0:
        return None
    said = (result.stderr or result.stdout).strip().partition("\n")[0].removeprefix("Error: ")
    return said or f"exit code {result.returncode}"


# --- what people read


def _table(findings: tuple[Finding, ...]) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False)
    for finding in findings:
        mark, style = finding.standing.value
        table.add_row(Text(mark, style=style), Text(finding.subject), Text(finding.found))
    return table


def _advise(console: Console, finding: Finding) -> None:
    _, style = finding.standing.value
    console.print()
    console.print(Text.assemble((finding.subject, style), ": ", finding.cost))
    console.print(Padding(Text(f"to get it: {finding.remedy}"), (0, 0, 0, 4)))
