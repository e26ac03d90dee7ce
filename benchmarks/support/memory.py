"""Memory that an analysis takes: samples of this process, its Java process and its worker processes."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

SAMPLE_SECONDS = 0.25
_KILOBYTES_IN_MEGABYTE = 1 << 10


@dataclass(slots=True)
class Peak:
    """Greatest resident memory of each kind of process, MB. Memory that processes share counts in each of them."""

    driver: float = 0.0
    """The Python process that drives the analysis."""
    java: float = 0.0
    worker: float = 0.0
    """The largest worker process."""
    total: float = 0.0

    def include(self, driver: float, java: float, workers: list[float]) -> None:
        """Raises the peak to a sample of all processes, where the sample is higher."""
        self.driver = max(self.driver, driver)
        self.java = max(self.java, java)
        self.worker = max(self.worker, *workers, 0.0)
        self.total = max(self.total, driver + java + sum(workers))

    def __str__(self) -> str:
        return (
            f"driver {self.driver:,.0f} MB (Python) and {self.java:,.0f} MB (Java), largest worker "
            f"{self.worker:,.0f} MB, all together {self.total:,.0f} MB"
        )


class MemorySampler:
    """Context manager that samples the memory of this process and its descendants; `peak` holds the result."""

    def __init__(self) -> None:
        self.peak = Peak()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join()

    def _sample(self) -> None:
        while not self._ended.wait(SAMPLE_SECONDS):
            descendants = [_program_and_memory(pid) for pid in _descendants(os.getpid())]
            java = [memory for program, memory in descendants if program.startswith("java")]
            workers = [memory for program, memory in descendants if not program.startswith("java")]
            self.peak.include(_program_and_memory(os.getpid())[1], max(java, default=0.0), workers)


def _descendants(pid: int) -> list[int]:
    children: list[int] = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children += map(int, task.read_text().split())
        except OSError:
            continue  # the thread or the process has ended
    return children + [descendant for child in children for descendant in _descendants(child)]


def _program_and_memory(pid: int) -> tuple[str, float]:
    """Name of the program's file, and resident MB; an empty name and 0 for a process that has ended.

    The file's name is taken because a process that is about to become Java still carries another command line.
    """
    try:
        program = Path(f"/proc/{pid}/exe").readlink().name
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return "", 0.0
    resident = next((line.split()[1] for line in status.splitlines() if line.startswith("VmRSS:")), "0")
    return program, int(resident) / _KILOBYTES_IN_MEGABYTE
