"""Progress of a task: a changing line on a terminal, a line every ten seconds elsewhere."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console

LINE_SECONDS = 10.0
"""Seconds between two lines in a pipe or a file."""


@contextmanager
def shown_progress(
    console: Console, task: str = "analysing the logs", every: float = LINE_SECONDS
) -> Iterator[Callable[[str], None]]:
    """Shows the progress of a task; yields a function to be called with a description of the step in progress."""
    if console.is_terminal:
        with console.status(task) as status:
            yield lambda what: status.update(f"{task}: {what}")
        return
    console.print(task)
    lines = _Lines(console, task, every)
    try:
        yield lines.show
    finally:
        lines.stop()


class _Lines:
    """Prints the step in progress in regular intervals, from a thread of its own, because a step may take longer."""

    def __init__(self, console: Console, task: str, every: float) -> None:
        self._console, self._task, self._every = console, task, every
        self._what = ""
        self._began = time.monotonic()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._print, name="progress", daemon=True)
        self._thread.start()

    def show(self, what: str) -> None:
        self._what = what

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join()

    def _print(self) -> None:
        while not self._stopped.wait(self._every):
            passed = time.monotonic() - self._began
            self._console.print(f"[{self._task}] {passed:.0f} s: {self._what}", markup=False, soft_wrap=True)
