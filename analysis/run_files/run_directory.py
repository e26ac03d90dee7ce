"""What a run directory holds besides its logs: the manifest and the fidelity verdicts, as far as analysis and report
use them. Fields they have no use for are ignored, and only what the analysis cannot do without is required."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from analysis.run_files.clocks import ClockOffset, Clocks, HostClock
from analysis.run_files.logs import Dilations, scenario_time
from record.errors import RunDirectoryError
from topology.files import load
from topology.model import BrokerId, Overlay, OverlayError

TOPOLOGY = "topology.json"
RUN_PHASE = "run"
STOP_PHASE = "stop"
UNKNOWN_FIDELITY = "UNKNOWN"
"""The fidelity verdict of a run that holds no `fidelity.json`."""
RECOVERY_SECONDS = 9.0
"""Where the manifest does not say: three missed heartbeats, a reconnection, and reconciliation, by their defaults."""


class Phase(msgspec.Struct, frozen=True, kw_only=True):
    """A stretch of a variant's time: nanoseconds, by the clock of the logs once they are in the scenario's time."""

    name: str
    start: int
    end: int


class Variant(msgspec.Struct, frozen=True, kw_only=True):
    """One variant as it went."""

    name: str
    phases: list[Phase] = []
    interrupted: bool = False
    topology: str = TOPOLOGY
    """The file of its overlay, in the run directory."""
    keeps_order: bool = False
    """Whether its routing promises that a publisher's publications on one advertisement do not overtake each other."""
    recovery: float = RECOVERY_SECONDS
    """Seconds that the overlay may take to be itself again once a fault is healed."""
    time_dilation: float = 1.0
    """How many times slower than the scenario it ran."""

    def phase(self, name: str) -> Phase | None:
        return next((phase for phase in self.phases if phase.name == name), None)

    @property
    def end(self) -> int | None:
        """When brokers began to stop, or the last that is known."""
        return max((phase.end for phase in self.phases if phase.name != STOP_PHASE), default=None)

    @property
    def stop(self) -> int | None:
        """When clients began to leave, where the run came so far: with the end of the last phase before `stop`."""
        return None if self.phase(STOP_PHASE) is None else self.end


class Choice(msgspec.Struct, frozen=True):
    """A rung of the capability ladder and why it was taken."""

    name: str = "unknown"
    reason: str = "not recorded"


class Host(msgspec.Struct, frozen=True):
    """The machine that ran it."""

    cpus: int = 0
    memory: int = 0
    processor: str = ""
    system: str = "unknown"


class SharingHost(msgspec.Struct, frozen=True, kw_only=True):
    """One of several hosts that shared a run."""

    name: str
    logs: list[str] = []
    """Names of the log files whose times are of this host's clock."""
    offsets: list[ClockOffset] = []
    """In the order of time; none for the host that kept the run's clock."""


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """`manifest.json`."""

    run_id: str
    variants: list[Variant]
    seed: int = 0
    interrupted: bool = False
    created: str = ""
    scenario: dict[str, Any] = {}
    runtime: Choice = Choice()
    links: Choice = Choice()
    kernel: str = ""
    host: Host = Host()
    versions: dict[str, str] = {}
    image: str | None = None
    git_revision: str | None = None
    clock: str = ""
    hosts: list[SharingHost] = []
    """The first one kept the run's clock; none where one host had all of the run."""


class FidelityCheck(msgspec.Struct, frozen=True):
    """A promise of the emulation and how it was kept."""

    name: str
    value: float | None
    unit: str
    limit: float | None
    verdict: str
    detail: str


class LinkProbe(msgspec.Struct, frozen=True):
    """One direction of a link, as probed. Seconds, bit/s, shares."""

    a: str
    b: str
    phase: str
    delay_asked: float
    delay_measured: float | None
    rate_asked: float | None
    rate_measured: float | None
    loss_asked: float
    loss_measured: float | None
    ok: bool
    detail: str = ""
    second: float | None = None
    """Of the run phase; None before the load."""


class FidelitySample(msgspec.Struct, frozen=True):
    """A stretch of the run phase. Seconds of the scenario's time, and shares; None is what was not measured."""

    begin: float
    end: float
    cpu_busy: float | None = None
    cpu_pressure: float | None = None
    relay_lateness: float | None = None
    relay_held_up: float | None = None
    loop_lag: float | None = None
    workload_lateness: float | None = None


class VariantFidelity(msgspec.Struct, frozen=True):
    name: str
    verdict: str
    checks: list[FidelityCheck] = []
    links: list[LinkProbe] = []
    samples: list[FidelitySample] = []
    advice: str = ""


class Fidelity(msgspec.Struct, frozen=True):
    """`fidelity.json`."""

    verdict: str = UNKNOWN_FIDELITY
    variants: list[VariantFidelity] = []

    def of(self, variant: str) -> VariantFidelity | None:
        return next((each for each in self.variants if each.name == variant), None)

    def verdict_on(self, variant: str) -> str:
        found = self.of(variant)
        return self.verdict if found is None else found.verdict


_Document = TypeVar("_Document", Manifest, Fidelity)


@dataclass(frozen=True)
class RunDirectory:
    """A finished (or interrupted) run on disk."""

    path: Path
    manifest: Manifest
    fidelity: Fidelity
    overlays: dict[str, Overlay]
    """By variant."""

    @property
    def logs(self) -> Path:
        return self.path / "logs"

    @property
    def results(self) -> Path:
        return self.path / "results"

    @cached_property
    def brokers(self) -> tuple[BrokerId, ...]:
        """Those of all variants' overlays."""
        return tuple(
            dict.fromkeys(
                broker.id
                for overlay in {id(o): o for o in self.overlays.values()}.values()
                for broker in overlay.brokers
            )
        )

    @cached_property
    def dilations(self) -> Dilations:
        """Of the variants that ran slower than their scenario."""
        return {one.name: one.time_dilation for one in self.manifest.variants if one.time_dilation != 1}

    @cached_property
    def clocks(self) -> Clocks:
        """Of the log files whose times are not of the run's clock."""
        return {log: HostClock(host.offsets) for host in self.manifest.hosts if host.offsets for log in host.logs}

    @cached_property
    def log_files(self) -> tuple[Path, ...]:
        return tuple(sorted(self.logs.glob("*.jsonl")))


def open_run(path: Path) -> RunDirectory:
    """Reads what describes the run. Raises `RunDirectoryError` naming the file that is missing or wrong."""
    if not path.is_dir():
        raise RunDirectoryError(f"{path}: no such run directory; `brokerlab emulate` prints the path of its own")
    manifest = _read(path / "manifest.json", Manifest)
    fidelity = _read(path / "fidelity.json", Fidelity) if (path / "fidelity.json").exists() else Fidelity()
    files = sorted({variant.topology for variant in manifest.variants} or {TOPOLOGY})
    loaded = {name: _overlay(path / name) for name in files}
    if not manifest.variants:
        raise RunDirectoryError(f"{path / 'manifest.json'}: variants: none began, so there is nothing to analyse")
    manifest = msgspec.structs.replace(manifest, variants=[_in_scenario_time(one) for one in manifest.variants])
    return RunDirectory(
        path, manifest, fidelity, {variant.name: loaded[variant.topology] for variant in manifest.variants}
    )


def _in_scenario_time(variant: Variant) -> Variant:
    """The manifest, like the logs, has the time that passed."""
    phases = [
        Phase(
            name=phase.name,
            start=scenario_time(phase.start, variant.time_dilation),
            end=scenario_time(phase.end, variant.time_dilation),
        )
        for phase in variant.phases
    ]
    return msgspec.structs.replace(variant, phases=phases)


def _read(file: Path, document: type[_Document]) -> _Document:
    try:
        return msgspec.json.decode(file.read_bytes(), type=document)
    except FileNotFoundError:
        raise RunDirectoryError(f"{file.parent}: not a run directory, it has no {file.name}") from None
    except OSError as error:
        raise RunDirectoryError(f"{file}: {error.strerror}") from error
    except msgspec.DecodeError as error:
        raise RunDirectoryError(f"{file}: {error}") from error


def _overlay(file: Path) -> Overlay:
    try:
        return load(file)
    except FileNotFoundError:
        raise RunDirectoryError(f"{file.parent}: not a run directory, it has no {file.name}") from None
    except (OSError, OverlayError) as error:
        raise RunDirectoryError(f"{error}") from error
