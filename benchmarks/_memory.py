"""How much memory an analysis takes: this process, its Java process and its workers, looked at again and again."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

LOOK_SECONDS = 0.25
_MB = 1 << 10
"""Of the kilobytes that /proc tells."""


@dataclass(slots=True)
class Peak:
    """The greatest resident memory seen, MB; what processes share counts in each."""

    driver: float = 0.0
    """Python's."""
    java: float = 0.0
    worker: float = 0.0
    """The largest one."""
    total: float = 0.0

    def see(self, driver: float, java: float, workers: list[float]) -> None:
        self.driver = max(self.driver, driver)
        self.java = max(self.java, java)
        self.worker = max(self.worker, *workers, 0.0)
        self.total = max(self.total, driver + java + sum(workers))

    def __str__(self) -> str:
        return (
            f"driver {self.driver:,.0f} MB (Python) and {self.java:,.0f} MB (Java), largest worker "
            f"{self.worker:,.0f} MB, all together {self.total:,.0f} MB"
        )


class Watch:
    """Looks at this process and those below it. A context manager; `peak` is what was seen."""

    def __init__(self) -> None:
        self.peak = Peak()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._over.wait(LOOK_SECONDS):
            below = [_process(id) for id in _below(os.getpid())]
            java = sum(memory for name, memory in below if name == "java")
            self.peak.see(_process(os.getpid())[1], java, [memory for name, memory in below if name != "java"])


def _below(id: int) -> list[int]:
    children: list[int] = []
    for task in Path(f"/proc/{id}/task").glob("*/children"):
        try:
            children += map(int, task.read_text().split())
        except OSError:
            continue  # the thread or the process has ended
    return children + [each for child in children for each in _below(child)]


def _process(id: int) -> tuple[str, float]:
    """Name and resident MB."""
    try:
        lines = dict(
            line.split(":\t", 1) for line in Path(f"/proc/{id}/status").read_text().splitlines() if ":\t" in line
        )
        return lines["Name"], int(lines["VmRSS"].split()[0]) / _MB
    except (OSError, KeyError):
        return "", 0.0
