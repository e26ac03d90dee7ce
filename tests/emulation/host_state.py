"""The state of this host that a run could leave behind, as a set of lines that can be compared."""

from __future__ import annotations

import subprocess
from pathlib import Path

from emulation.host.processes import RUN_VARIABLE
from emulation.host.registry import ROOT, live_runs

_NAMED = "{{.ID}} {{.Names}}"


def host_state() -> frozenset[str]:
    """Containers, interfaces, queueing disciplines, namespaces, cgroups, mounts, directories, and marked processes.

    What belongs to a run in progress is left out, because it is not residue.
    """
    live = live_runs()
    lines = {
        *_lines("container", "docker", "ps", "-a", "--format", "{{.Names}}"),
        *_lines("volume", "docker", "volume", "ls", "--format", "{{.Name}}"),
        *_lines("docker network", "docker", "network", "ls", "--format", "{{.Name}}"),
        *_lines("namespace", "ip", "netns", "list"),
        *(f"interface {name.name}" for name in Path("/sys/class/net").iterdir()),
        *_lines("queueing discipline", "tc", "qdisc", "show"),
        *(f"mount {line.split()[1]}" for line in Path("/proc/mounts").read_text().splitlines()),
        *_cgroups(),
        # Without the note of whose cell of a campaign has this host now, which no run makes.
        *(f"directory {path}" for path in (ROOT.iterdir() if ROOT.is_dir() else ()) if path.name != ".cell.json"),
        *_marked_processes(),
    }
    return frozenset(line for line in lines if not any(run_id in line for run_id in live))


def _lines(what: str, *command: str) -> list[str]:
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return [f"{what} {line}" for line in shown.splitlines()]


def _cgroups() -> list[str]:
    """Control groups of containers, with the names of those that there are still: a run's have its id."""
    names = dict(line.split(" ")[1:] for line in _lines("", "docker", "ps", "-a", "--no-trunc", "--format", _NAMED))
    found = [path for place in ("docker", "*/docker") for path in Path("/sys/fs/cgroup").glob(f"{place}/*")]
    return [f"cgroup {path} of {names.get(path.name, 'none')}" for path in found if path.is_dir()]


def _marked_processes() -> list[str]:
    mark = f"{RUN_VARIABLE}=".encode()
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            environment = (entry / "environ").read_bytes().split(b"\0")
            command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:  # it ended meanwhile
            continue
        found += [
            f"process {entry.name} of {value.removeprefix(mark).decode()}: {command}"
            for value in environment
            if value.startswith(mark)
        ]
    return found
