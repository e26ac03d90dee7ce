"""Debian's tshark, as tests of captures use it."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest


def require_tshark() -> None:
    """Skips the rest of a test where tshark is not installed."""
    if shutil.which("tshark") is None:
        pytest.skip("needs tshark (Debian's package takes 22 MB to fetch and 128 MB of disk)")


def tshark(file: Path, profile: Path, *options: str) -> str:
    """The output of tshark on a file, with a profile."""
    done = subprocess.run(
        ["tshark", "-r", file, *options], capture_output=True, text=True, check=True,
        env={**os.environ, "WIRESHARK_CONFIG_DIR": str(profile)},
    )  # fmt: skip
    assert "WARNING" not in done.stderr, done.stderr
    return done.stdout
