"""Context of a run, made once and passed to every step: paths, manifest, display, log, clock."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import structlog

from emulation.drivers.status import ClientCounts
from emulation.held.hold import Hold
from emulation.host.journal import Journal
from emulation.host.run_paths import RunPaths
from emulation.planning.plan import VariantPlan, planned_work_of
from emulation.run.interrupt import Interrupt
from emulation.run.progress import RunDisplay, Snapshot
from emulation.runtimes.interface import Runtime
from record import manifest
from record.files import LOADS, write_json
from record.manifest import Manifest, PhaseName, PhaseRecord, VariantRecord
from scenario.workload.load_sketch import LoadSketch, sketched

if TYPE_CHECKING:
    from emulation.runtimes.client_containers import ClientContainers

EMULATOR_LOG = "emulator.log"
"""The file of the emulator's own log."""


def times_objects_settled() -> int:
    """The number of garbage collections so far whose survivors became old, so that only a full one looks at them."""
    collections: list[int] = [generation["collections"] for generation in gc.get_stats()]
    return sum(collections[1:])


@dataclass(frozen=True, kw_only=True)
class RunContext:
    """The run in progress, on whatever its brokers run."""

    paths: RunPaths
    manifest: Manifest
    snapshot: Snapshot
    display: RunDisplay
    interrupt: Interrupt
    log: Any
    """A structlog logger that writes `emulator.log`."""
    clock: Callable[[], int]
    """Nanoseconds of the run's time."""

    def announce(self, line: str) -> None:
        """Shows the user a line, and logs it."""
        self.log.info("announced", line=line)
        self.display.print_line(line)

    def show_counts(self, counts: ClientCounts) -> None:
        """Shows what clients have done so far."""
        snapshot = self.snapshot
        snapshot.published, snapshot.delivered = counts.published, counts.notified
        snapshot.rejected = counts.rejected
        self.display.refresh()

    def doing(self, activity: str) -> None:
        """Shows what takes time right now."""
        self.log.info("doing", activity=activity)
        self.snapshot.activity = activity
        self.display.refresh()

    def cut_short(self, variant: int) -> None:
        """Notes in the manifest that the run ended during this variant, counted from 0, and before those after it."""
        for record in self.manifest.variants[variant:]:
            record.interrupted = True
        self.keep_manifest()

    def free_memory(self, settled: int) -> None:
        """Frees what a variant leaves that has ended. A simulated network refers to itself, so that the networks of all
        variants would fill the memory one by one.

        `settled` is the number that `times_objects_settled` gave before the variant. If it is still that, the network
        is among the young objects. To look through all others as well takes a tenth of a second, which is longer than
        many a small variant.
        """
        gc.collect(1 if times_objects_settled() == settled else 2)

    def keep_manifest(self) -> None:
        """Writes the manifest as it is now. Raises `OSError`."""
        manifest.write(self.manifest, self.paths.directory)

    def state_work(self, plan: VariantPlan, record: VariantRecord) -> None:
        """States in the record of a variant what its clients shall do, and describes their load, for the report."""
        workload, loads = plan.workload, self.paths.directory / LOADS
        join = workload.scenario.timeline.join
        sketch = LoadSketch(plan.name, join=join, run=workload.run, stretch=workload.stretch)
        planned = planned_work_of(sketched(sketch, workload.operations()), workload.stretch)
        record.planned, record.planned_operations = planned
        loads.mkdir(exist_ok=True)
        write_json(loads / f"{self.manifest.variants.index(record) + 1}.json", sketch.load())

    @contextmanager
    def phase(
        self, record: VariantRecord, name: PhaseName, seconds: float | None = None, activity: str = ""
    ) -> Iterator[None]:
        """A phase of a variant: shown while it lasts, kept in the manifest however it ends."""
        begin = self.clock()
        self.snapshot.phase, self.snapshot.activity = name, activity
        self.snapshot.phase_begin = begin / 1e9
        self.snapshot.phase_end = None if seconds is None else begin / 1e9 + seconds
        self.display.refresh()
        self.log.info("phase begins", variant=record.name, phase=name.value, seconds=seconds)
        try:
            yield
        finally:
            record.phases.append(PhaseRecord(name=name, start=begin, end=self.clock()))
            self.keep_manifest()
            self.log.info("phase ends", variant=record.name, phase=name.value)


@dataclass(frozen=True, kw_only=True)
class HostRunContext(RunContext):
    """A run on this very host, in real time."""

    journal: Journal
    runtime: Runtime
    client_containers: ClientContainers | None = None
    """The containers of client programs; None of a run without containers."""
    hold: Hold | None = None
    """The hold on the run; None for one that ends by itself."""


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
    file: Any = _LogFile(paths.directory / EMULATOR_LOG)
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
