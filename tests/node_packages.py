"""Packages that the examples in Node need, installed once below `.cache`."""

from __future__ import annotations

import fcntl
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
CACHE = ROOT / ".cache"


def node_packages(example: Path, name: str) -> Path:
    """The folder `node_modules` for an example's package.json, kept as `name`. Skips the test where there is none.

    It appears whole, so that no other process of the tests takes it for installed while npm still fills it.
    """
    if shutil.which("node") is None or shutil.which("npm") is None:
        pytest.skip("there is no Node on this host")
    kept = CACHE / name
    CACHE.mkdir(exist_ok=True)
    with (CACHE / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (kept / "node_modules").is_dir():
            with tempfile.TemporaryDirectory(dir=CACHE) as folder:
                shutil.copy(example / "package.json", folder)
                command = ["npm", "install", "--no-package-lock", "--ignore-scripts", "--no-audit", "--no-fund"]
                if subprocess.run(command, cwd=folder, check=False, capture_output=True).returncode:
                    pytest.skip("npm cannot install the packages of the example")
                kept.mkdir(exist_ok=True)
                (Path(folder) / "node_modules").rename(kept / "node_modules")
    return kept / "node_modules"
