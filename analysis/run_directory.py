"""What the analysis needs of a run directory besides its logs. Fields it has no use for are ignored."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeVar

import msgspec

from analysis.errors import RunDirectoryError
from topology.files import load
from topology.model import BrokerId, OverlayError

TOPOLOGY = "topology.json"
RUN_PHASE = "run"
STOP_PHASE = "stop"
UNKNOWN_FIDELITY = "UNKNOWN"
"""The fidelity verdict of a run that holds no `fidelity.json`."""


class Phase(msgspec.Struct, frozen=True, kw_only=True):
    """A stretch of a variant's time, nanoseconds of the run's clock."""

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

    def phase(self, name: str) -> Phase | None:
        return next((phase for phase in self.phases if phase.name == name), None)

    @property
    def end(self) -> int | None:
        """When brokers began to stop, or the last that is known."""
        return max((phase.end for phase in self.phases if phase.name != STOP_PHASE), default=None)


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """`manifest.json`, as far as it matters here."""

    run_id: str
    variants: list[Variant]
    seed: int = 0
    interrupted: bool = False


class _VariantFidelity(msgspec.Struct, frozen=True):
    name: str
    verdict: str


class Fidelity(msgspec.Struct, frozen=True):
    """`fidelity.json`, as far as it matters here."""

    verdict: str = UNKNOWN_FIDELITY
    variants: list[_VariantFidelity] = []

    def of(self, variant: str) -> str:
        return next((each.verdict for each in self.variants if each.name == variant), self.verdict)


_Document = TypeVar("_Document", Manifest, Fidelity)


@dataclass(frozen=True)
class RunDirectory:
    """A finished (or interrupted) run on disk."""

    path: Path
    manifest: Manifest
    fidelity: Fidelity
    brokers: tuple[BrokerId, ...]
    """Those of all variants' overlays."""

    @property
    def logs(self) -> Path:
        return self.path / "logs"

    @property
    def results(self) -> Path:
        return self.path / "results"

    @cached_property
    def log_files(self) -> tuple[Path, ...]:
        return tuple(sorted(self.logs.glob("*.jsonl")))


def open_run(path: Path) -> RunDirectory:
    """Reads what describes the run. Raises `RunDirectoryError` naming the file that is missing or wrong."""
    if not path.is_dir():
        raise RunDirectoryError(f"{path}: no such run directory; `brokerlab emulate` prints the path of its own")
    manifest = _read(path / "manifest.json", Manifest)
    fidelity = _read(path / "fidelity.json", Fidelity) if (path / "fidelity.json").exists() else Fidelity()
    overlays = sorted({variant.topology for variant in manifest.variants} or {TOPOLOGY})
    brokers = {broker: None for name in overlays for broker in _brokers(path / name)}
    run = RunDirectory(path, manifest, fidelity, tuple(brokers))
    if not manifest.variants:
        raise RunDirectoryError(f"{path / 'manifest.json'}: variants: none began, so there is nothing to analyse")
    if not run.log_files:
        raise RunDirectoryError(f"{run.logs}: no logs (*.jsonl); the run ended before any node began to log")
    return run


def _read(file: Path, document: type[_Document]) -> _Document:
    try:
        return msgspec.json.decode(file.read_bytes(), type=document)
    except FileNotFoundError:
        raise RunDirectoryError(f"{file.parent}: not a run directory, it has no {file.name}") from None
    except OSError as error:
        raise RunDirectoryError(f"{file}: {error.strerror}") from error
    except msgspec.DecodeError as error:
        raise RunDirectoryError(f"{file}: {error}") from error


def _brokers(file: Path) -> tuple[BrokerId, ...]:
    try:
        return tuple(broker.id for broker in load(file).brokers)
    except FileNotFoundError:
        raise RunDirectoryError(f"{file.parent}: not a run directory, it has no {file.name}") from None
    except (OSError, OverlayError) as error:
        raise RunDirectoryError(f"{error}") from error
