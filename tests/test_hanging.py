"""A test that hangs beyond the reach of its time-out is named, and the others go on."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CONFTEST = """
from tests import hanging

hanging.GRACE = 0.5

def pytest_configure(config):
    config.pluginmanager.register(hanging.HangingTests())
"""
TESTS = """
import signal, threading
import pytest

@pytest.mark.timeout(0.5)
def test_hangs():
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})
    threading.Event().wait()

def test_goes_on(): pass
"""


def test_a_test_that_no_signal_reaches_is_ended_and_named(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_some.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-n", "1", "-p", "no:cacheprovider", "-c", ROOT / "pyproject.toml"]
    ended = subprocess.run(
        [*command, f"--rootdir={tmp_path}", "-o", f"pythonpath={ROOT}", "."],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "crashed while running 'test_some.py::test_hangs'" in ended.stdout
    assert "1 failed, 1 passed" in ended.stdout
    assert "in test_hangs" in ended.stderr, "the stack of each thread"
