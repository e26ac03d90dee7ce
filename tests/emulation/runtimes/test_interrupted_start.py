"""Containers whose start is interrupted; Docker is a stand-in, because the moment of the interrupt matters."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import MagicMock

import pytest

from emulation.host.run_paths import RunPaths
from emulation.run.interrupt import QuickStop
from emulation.runtimes.container import ContainerRuntime

BROKERS = ("A", "B", "C")
SANDBOXES = [f"brokerlab-run-{broker}-sandbox" for broker in BROKERS]
PATIENCE = 0.2
"""Seconds in which a removal that does not wait for the container would come first."""


class SlowDocker:
    """Keeps names of containers. Once armed, it takes its time, and the user asks for the end while it makes one."""

    def __init__(self) -> None:
        self.containers: set[str] = set()
        self._asks = threading.Semaphore(0)
        self._removed = {name: threading.Event() for name in SANDBOXES}
        self._main = threading.main_thread().ident

    def arm(self) -> None:
        for removed in self._removed.values():
            removed.clear()
        self._asks.release()

    def create_host_config(self, **options: object) -> None: ...

    def create_container(self, image: str, *, name: str, **options: object) -> None:
        if self._asks.acquire(blocking=False):
            assert self._main is not None
            signal.pthread_kill(self._main, signal.SIGUSR1)
        self._removed[name].wait(PATIENCE)
        self.containers.add(name)

    def start(self, name: str) -> None: ...

    def inspect_container(self, name: str) -> dict[str, dict[str, int]]:
        return {"State": {"Pid": 1}}

    def remove_container(self, name: str, **options: object) -> None:
        self.containers.discard(name)
        if name in self._removed:
            self._removed[name].set()


@pytest.fixture(autouse=True)
def quick_stop_by_signal() -> Iterator[None]:
    def handle(number: int, frame: object) -> None:
        raise QuickStop

    previous = signal.signal(signal.SIGUSR1, handle)
    yield
    signal.signal(signal.SIGUSR1, previous)


def test_containers_in_the_making_are_removed_too(tmp_path: Path) -> None:
    api, paths = SlowDocker(), RunPaths.of("run", tmp_path)
    paths.logs.mkdir(parents=True)
    runtime = ContainerRuntime(MagicMock(api=api), "image", paths, MagicMock())
    with pytest.raises(QuickStop), runtime:
        runtime.sandboxes(BROKERS)
        runtime.sandboxes(())
        api.arm()
        runtime.sandboxes(BROKERS)
    assert api.containers == set()
