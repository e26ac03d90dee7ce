"""Self-tests of this host; nothing is asserted about its speed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from emulation.multi_host import self_test
from emulation.multi_host.self_test import SelfTest
from emulation.network.model import NetworkError


@pytest.mark.proof
@pytest.mark.container
def test_a_host_tells_its_processors_and_its_relays_frames() -> None:
    command = [sys.executable, "-m", "emulation.multi_host.self_test", "0.4"]
    said = subprocess.run(command, capture_output=True, check=True, cwd=Path(self_test.__file__).parents[2]).stdout
    found = msgspec.json.decode(said, type=SelfTest)
    # a loop that was timed at its quickest is never passed through more often than the time allows
    assert 0 < found.processors <= 1.1 * len(os.sched_getaffinity(0))
    assert found.frames is not None and 1_000 < found.frames < 10_000_000


def passes_of_one(processor: int, *_: float) -> int:
    """Full speed on the first processor, and nothing on another, which a hypervisor holds."""
    return 0 if processor > min(os.sched_getaffinity(0)) else 100


def test_processors_that_do_nothing_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(self_test, "_passes", passes_of_one)
    assert self_test._processors(1.0, alone=10_000_000) == pytest.approx(1.0)


def test_a_host_without_userspace_links_tells_no_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    class NoNetwork:
        def __init__(self, *_: object) -> None:
            raise NetworkError("cannot open a TAP interface")

    monkeypatch.setattr(self_test, "EmulatedNetwork", NoNetwork)
    assert self_test._frames(0.1) is None
