"""A laboratory of three hosts, whose clocks are not the same."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.emulation.multi_host.laboratory import SSHD, Laboratory

CLOCKS = (0, 1000, -500)
"""Seconds that the hosts' monotonic clocks are ahead of this machine's."""


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


@pytest.fixture(scope="module")
def laboratory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Laboratory]:
    if (reason := obstacle()) is not None:
        if os.environ.get("CI"):
            pytest.fail(f"cannot be skipped in CI: {reason}", pytrace=False)
        pytest.skip(reason)
    directory: Path = tmp_path_factory.mktemp("laboratory")
    with Laboratory(directory, CLOCKS) as made:
        yield made
