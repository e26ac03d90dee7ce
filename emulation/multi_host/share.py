"""Begins and ends this host's share of a run: the commands that Ansible runs.

    python -m emulation.multi_host.share begin DIRECTORY < SHARE.JSON  starts an agent, which outlasts the connection
    python -m emulation.multi_host.share end DIRECTORY SECONDS  ends the agent in order, and packs and removes the share

The second prints the path of the archive, `DIRECTORY.tar.gz`, and nothing where there is no share.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from emulation.host.processes import identify
from emulation.multi_host.signals import SIGNALS, Signals, end_agent
from record.exit_codes import ExitCode

_REQUEST = "share.json"
_ROOT = Path(__file__).resolve().parents[2]


def begin(directory: Path, request: bytes) -> None:
    """Starts the agent with this request, in a session of its own. Its output is kept beside its signals."""
    directory.mkdir(parents=True, exist_ok=True)
    file = directory / _REQUEST
    file.touch(mode=0o600, exist_ok=False)  # because it contains the run's token
    file.write_bytes(request)
    with (directory / "agent.log").open("wb") as log:
        agent = subprocess.Popen(
            [sys.executable, "-m", "emulation.multi_host.agent", str(file)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            cwd=_ROOT,
            start_new_session=True,
        )
    if (started := identify(agent.pid)) is not None:
        Signals(directory / SIGNALS).begin(started)


def end(directory: Path, within: float) -> Path | None:
    """Ends the agent if it still runs; returns the archive of what it wrote, None where there is no share."""
    end_agent(directory / SIGNALS, within)
    if not directory.exists():
        return None
    packed = directory.with_name(f"{directory.name}.tar.gz")
    source = [f"--directory={directory}", f"--exclude={_REQUEST}", "."]
    subprocess.run(["tar", "--create", "--gzip", f"--file={packed}", *source], check=True)
    shutil.rmtree(directory)
    return packed


def main(arguments: list[str]) -> int:
    match arguments:
        case ["begin", directory]:
            begin(Path(directory), sys.stdin.buffer.read())
        case ["end", directory, seconds]:
            print(end(Path(directory), float(seconds)) or "", end="")
        case _:
            print(__doc__, file=sys.stderr)
            return ExitCode.BAD_INPUT
    return ExitCode.CORRECT


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
