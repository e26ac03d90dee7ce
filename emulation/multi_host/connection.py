"""SSH connections from Ansible to the hosts, with few round trips. They end with the command that uses them."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

_IDLE = 60
"""Seconds after which an idle connection closes by itself, in case the command was killed."""


@contextmanager
def connections(directory: Path) -> Iterator[Mapping[str, object]]:
    """Variables for plays that share connections, with sockets in `directory`. On leaving, both are removed.

    The directory's path may have about 70 characters, because the paths of sockets may have 108.
    """
    directory.mkdir()
    try:
        yield {
            "ansible_pipelining": True,
            "ansible_control_path_dir": str(directory),
            "ansible_ssh_args": f"-C -o ControlMaster=auto -o ControlPersist={_IDLE}s -o ServerAliveInterval=15",
        }
    finally:
        for connection in directory.iterdir():
            with contextlib.suppress(OSError):
                close = ["ssh", "-o", f"ControlPath={connection}", "-O", "exit", "brokerlab"]
                subprocess.run(close, capture_output=True, check=False)
        shutil.rmtree(directory, ignore_errors=True)
