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
            java = [memory for program, memory in below if program.startswith("java")]
            workers = [memory for program, memory in below if not program.startswith("java")]
            self.peak.see(_process(os.getpid())[1], max(java, default=0.0), workers)


def _below(id: int) -> list[int]:
    children: list[int] = []
    for task in Path(f"/proc/{id}/task").glob("*/children"):
        try:
            children += map(int, task.read_text().split())
        except OSError:
            continue  # the thread or the process has ended
    return children + [each for child in children for each in _below(child)]


def _process(id: int) -> tuple[str, float]:
    """Program and resident MB. By its file: one that Java is about to start is called otherwise, and still Java."""
    try:
        program = Path(f"/proc/{id}/exe").readlink().name
        status = Path(f"/proc/{id}/status").read_text()
    except OSError:
        return "", 0.0
    resident = next((line.split()[1] for line in status.splitlines() if line.startswith("VmRSS:")), "0")
    return program, int(resident) / _MB
