"""What every step of a run needs at hand, made once and passed along."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import structlog

from emulation.host.journal import Journal
from emulation.host.run_paths import RunPaths
from emulation.run.interrupt import Interrupt
from emulation.run.progress import Display, Snapshot
from emulation.runtimes.interface import Runtime
from record import manifest
from record.manifest import Manifest, Phase, PhaseName, VariantRecord


@dataclass(frozen=True, kw_only=True)
class Session:
    """The run under way, whatever its brokers run on."""

    paths: RunPaths
    manifest: Manifest
    snapshot: Snapshot
    display: Display
    interrupt: Interrupt
    log: Any
    """A structlog logger that writes `emulator.log`."""
    clock: Callable[[], int]
    """Nanoseconds of the run's time."""

    def at(self, clock: Callable[[], int]) -> Session:
        """The same run by another clock."""
        return replace(self, clock=clock)

    def say(self, line: str) -> None:
        """Tells the user, and the log."""
        self.log.info("said", line=line)
        self.display.say(line)

    def doing(self, activity: str) -> None:
        """Shows what takes time right now."""
        self.log.info("doing", activity=activity)
        self.snapshot.activity = activity
        self.display.refresh()

    def cut_short(self, variant: int) -> None:
        """Notes in the manifest that the run ended during this variant, counted from 0, and before those after it."""
        for record in self.manifest.variants[variant:]:
            record.interrupted = True
        manifest.write(self.manifest, self.paths.directory)

    @contextmanager
    def phase(
        self, record: VariantRecord, name: str, seconds: float | None = None, activity: str = ""
    ) -> Iterator[None]:
        """A phase of a variant: shown while it lasts, kept in the manifest however it ends."""
        begin = self.clock()
        self.snapshot.phase, self.snapshot.activity = name, activity
        self.snapshot.phase_begin = begin / 1e9
        self.snapshot.phase_end = None if seconds is None else begin / 1e9 + seconds
        self.display.refresh()
        self.log.info("phase begins", variant=record.name, phase=name, seconds=seconds)
        try:
            yield
        finally:
            record.phases.append(Phase(name=PhaseName(name), start=begin, end=self.clock()))
            manifest.write(self.manifest, self.paths.directory)
            self.log.info("phase ends", variant=record.name, phase=name)


@dataclass(frozen=True, kw_only=True)
class HostSession(Session):
    """A run on this very host, in real time."""

    journal: Journal
    runtime: Runtime


class _LogFile:
    """The file of the emulator's own log. A full disk silences it, and must not end the run in disorder."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("a", encoding="utf-8", buffering=1)

    def write(self, text: str) -> None:
        with contextlib.suppress(OSError):
            self._file.write(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError):
            self._file.flush()


def open_log(paths: RunPaths) -> Any:
    """A logger that writes lines of key=value pairs to the run directory's `emulator.log`."""
    file: Any = _LogFile(paths.directory / "emulator.log")
    return structlog.wrap_logger(
        structlog.WriteLogger(file),
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            structlog.processors.LogfmtRenderer(key_order=["timestamp", "level", "event"], bool_as_flag=False),
        ],
        wrapper_class=structlog.BoundLogger,
    )
