"""How Ansible reaches the hosts: with few round trips, over connections that end with the command that used them."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

_REST = 60
"""Seconds after which an idle connection ends by itself, should nobody end it."""


@contextmanager
def connections(directory: Path) -> Iterator[Mapping[str, object]]:
    """Variables for plays that share connections, which have their sockets in a directory; on leaving, both are gone.

    The directory's path may have some 70 characters: those of sockets may not have more than 108.
    """
    directory.mkdir()
    try:
        yield {
            "ansible_pipelining": True,
            "ansible_control_path_dir": str(directory),
            "ansible_ssh_args": f"-C -o ControlMaster=auto -o ControlPersist={_REST}s -o ServerAliveInterval=15",
        }
    finally:
        for connection in directory.iterdir():
            with contextlib.suppress(OSError):
                close = ["ssh", "-o", f"ControlPath={connection}", "-O", "exit", "brokerlab"]
                subprocess.run(close, capture_output=True, check=False)
        shutil.rmtree(directory, ignore_errors=True)
