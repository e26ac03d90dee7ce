"""How Ansible reaches the hosts: with few round trips, over connections that end with the command that used them."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

_REST = 60
"""Seconds after which an idle connection ends by itself, should nobody end it."""


@contextmanager
def connections() -> Iterator[Mapping[str, object]]:
    """Variables for plays that share connections; on leaving, these are closed."""
    # The sockets' paths may have 104 characters only.
    directory = Path(tempfile.mkdtemp(prefix="brokerlab-ssh-"))
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
