"""A run directory, opened for analysis: its manifest, its fidelity verdict, its overlays and the paths of its logs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import structs

from analysis.run_files.clocks import Clocks, clocks_of
from analysis.run_files.folders import Folder, LocalFolder, LogFile
from analysis.run_files.link_directions import LinkDirections
from analysis.run_files.logs import Dilations, Logs, StoredLogs, scenario_time
from analysis.run_files.processor_times import NodeTimes, SampledVariant, read_processor_times
from analysis.run_files.soundness import require_sound_manifest, require_this_format
from record.errors import RunDirectoryError
from record.fidelity import Fidelity, check_on
from record.files import FIDELITY, LOGS, MANIFEST, RESULTS, TOPOLOGY, node_of, read_file
from record.manifest import Manifest, PhaseName, PhaseRecord, VariantRecord
from record.processors import NOT_SAMPLED
from topology.files import load
from topology.link_properties import BrokerId, OverlayError
from topology.mobility import Trajectory
from topology.mobility.movement_files import load_movements
from topology.model import Overlay
from topology.sites import Site, load_sites
from topology.underlays.underlay import Underlay
from topology.underlays.underlay_files import load_underlay

_Network = TypeVar("_Network", Overlay, Underlay, dict[BrokerId, Trajectory], tuple[Site, ...])


@dataclass(frozen=True)
class RunDirectory:
    """A finished or interrupted run on disk."""

    path: Path
    folder: Folder
    """Folder that workers open: `path` itself, or a folder on a store of whose small files `path` has copies."""
    manifest: Manifest
    """With the phases in the scenario's time, as the records of the logs once they are read."""
    fidelity: Fidelity | None
    """Fidelity of the run; None without `fidelity.json`, when it was killed before its end."""
    overlays: dict[str, Overlay]
    """Overlay of each variant."""
    logs: Logs

    @cached_property
    def underlays(self) -> dict[str, Underlay]:
        """The routers' network under each variant's overlay, for variants that have one.

        Latencies are in the scenario's time. Raises `RunDirectoryError`.
        """
        files = {
            variant.name: variant.underlay
            for variant in self.manifest.variants
            if variant.underlay is not msgspec.UNSET
        }
        loaded = {name: _topology_file(self.path / name, load_underlay) for name in sorted(set(files.values()))}
        return {variant: loaded[name] for variant, name in files.items()}

    @cached_property
    def movements(self) -> dict[str, dict[BrokerId, Trajectory]]:
        """The trajectories of each variant's brokers, for variants in which they move.

        Seconds of the scenario since the start of the join phase. Raises `RunDirectoryError`.
        """
        files = {
            variant.name: variant.movements
            for variant in self.manifest.variants
            if variant.movements is not msgspec.UNSET
        }
        loaded = {name: _topology_file(self.path / name, load_movements) for name in sorted(set(files.values()))}
        return {variant: loaded[name] for variant, name in files.items()}

    @cached_property
    def sites(self) -> dict[str, tuple[Site, ...]]:
        """The sites of each variant's clients, for variants that have any. Raises `RunDirectoryError`."""
        files = {
            variant.name: variant.sites for variant in self.manifest.variants if variant.sites is not msgspec.UNSET
        }
        loaded = {name: _topology_file(self.path / name, load_sites) for name in sorted(set(files.values()))}
        return {variant: loaded[name] for variant, name in files.items()}

    @property
    def results(self) -> Path:
        """The directory of the small tables."""
        return self.path / RESULTS

    @cached_property
    def _distinct(self) -> Mapping[int, Overlay]:
        """Each overlay once, by its identity, because variants may share one."""
        return {id(overlay): overlay for overlay in self.overlays.values()}

    @cached_property
    def brokers(self) -> tuple[BrokerId, ...]:
        """The brokers of all variants' overlays."""
        return tuple(dict.fromkeys(broker.id for overlay in self._distinct.values() for broker in overlay.brokers))

    @cached_property
    def directions(self) -> Mapping[str, LinkDirections]:
        """Properties of the links of each variant by their ends, the same object for variants of one overlay."""
        of_each = {key: LinkDirections(overlay) for key, overlay in self._distinct.items()}
        return {variant: of_each[id(overlay)] for variant, overlay in self.overlays.items()}

    @cached_property
    def dilations(self) -> Dilations:
        """The time dilation of each variant that ran slower than its scenario."""
        variants = self.manifest.variants
        return {variant.name: variant.time_dilation for variant in variants if variant.time_dilation != 1}

    @cached_property
    def clocks(self) -> Clocks:
        """The clock of each log file whose times are not of the run's clock."""
        return clocks_of(self.manifest)

    @cached_property
    def nodes_on_hosts(self) -> Mapping[str, str]:
        """The host of each node by the files of logs; a broker that was on several, in different variants, is on one of
        them here, and the samplers know better. Empty where one host had all of the run."""
        return {node_of(log): host.name for host in self.manifest.hosts for log in host.logs}

    @cached_property
    def sampled(self) -> Mapping[str, SampledVariant]:
        """Counts of the samplers of processors, by variant; none of variants that were not sampled.

        Raises `RunDirectoryError`.
        """
        return read_processor_times(self.path, self.dilations, self.manifest.hosts)

    def processor_times(self, variant: str) -> NodeTimes:
        """The times for which nodes waited for a processor; none of a variant that was not sampled."""
        return self.sampled[variant].nodes if variant in self.sampled else {}

    def unsampled_hosts(self, variant: str) -> Mapping[str, str]:
        """The hosts, of several, on which no node of a variant was sampled, with the reason that each states; empty for
        one that states none."""
        there = set(self.sampled[variant].hosts.values()) if variant in self.sampled else set()
        judged = None if self.fidelity is None else self.fidelity.of(variant)
        stated = {} if judged is None else {check.name: check.detail for check in judged.checks}
        missing = (host.name for host in self.manifest.hosts if host.name not in there)
        return {host: stated.get(check_on(host, NOT_SAMPLED), "") for host in missing}

    @cached_property
    def log_files(self) -> tuple[LogFile, ...]:
        """The logs. Raises `RunDirectoryError` for one that is no file."""
        return tuple(self.logs.files())

    @cached_property
    def brokers_without_log(self) -> list[BrokerId]:
        """The brokers of variants that reached their run phase, as far as they have no log file; in order of name.

        Every broker logs its start, so a file is missing because it was removed or was never copied from its host.
        """
        ran = {
            broker.id
            for variant in self.manifest.variants
            if variant.phase(PhaseName.RUN) is not None and variant.brokers_log
            for broker in self.overlays[variant.name].brokers
        }
        return sorted(ran - {node_of(file.name) for file in self.log_files})


def open_run(path: Path, folder: Folder | None = None, logs: Logs | None = None) -> RunDirectory:
    """Reads the files that describe a run. Raises `RunDirectoryError` naming the file that is missing or wrong.

    `folder` has the logs and gets the tables; the directory itself by default. `logs` are others than those.
    """
    manifest = read_manifest(path)
    if not manifest.variants:
        raise RunDirectoryError(f"{path / MANIFEST}: variants: none began, so there is nothing to analyse")
    fidelity = _read_fidelity(path / FIDELITY)
    files = sorted({variant.topology for variant in manifest.variants} or {TOPOLOGY})
    loaded = {name: _topology_file(path / name, load) for name in files}
    manifest = structs.replace(manifest, variants=[in_scenario_time(variant) for variant in manifest.variants])
    folder = folder or LocalFolder(path.absolute())
    return RunDirectory(
        path=path,
        folder=folder,
        manifest=manifest,
        fidelity=fidelity,
        overlays={variant.name: loaded[variant.topology] for variant in manifest.variants},
        logs=logs or StoredLogs(folder.below(LOGS)),
    )


def read_manifest(path: Path) -> Manifest:
    """The manifest of a run directory, as written. Raises `RunDirectoryError`."""
    if not path.is_dir():
        raise RunDirectoryError(
            f"{path}: no such run directory; `brokerlab emulate` prints the path of its own, `brokerlab runs` lists all"
        )
    file = path / MANIFEST
    with _damage_reported(file):
        content = read_file(file)
        require_this_format(file, content)
        manifest = msgspec.json.decode(content, type=Manifest)
    require_sound_manifest(manifest, path)
    return manifest


def in_scenario_time(variant: VariantRecord) -> VariantRecord:
    """The variant with its phases in the scenario's time; the manifest holds the time that really passed."""
    phases = [
        PhaseRecord(
            name=phase.name,
            start=scenario_time(phase.start, variant.time_dilation),
            end=scenario_time(phase.end, variant.time_dilation),
        )
        for phase in variant.phases
    ]
    return structs.replace(variant, phases=phases)


def _read_fidelity(file: Path) -> Fidelity | None:
    if not file.exists():
        return None
    with _damage_reported(file):
        return msgspec.json.decode(read_file(file), type=Fidelity)


@contextmanager
def _damage_reported(file: Path) -> Iterator[None]:
    """Makes a file that is missing or cannot be read one line that names it."""
    try:
        yield
    except FileNotFoundError:
        raise RunDirectoryError(f"{file.parent}: not a run directory, it has no {file.name}") from None
    except OSError as error:
        raise RunDirectoryError(f"{file}: {error.strerror}") from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RunDirectoryError(f"{file}: {error}") from error


def _topology_file(file: Path, read: Callable[[Path], _Network]) -> _Network:
    try:
        return read(file)
    except FileNotFoundError:
        raise RunDirectoryError(f"{file.parent}: not a run directory, it has no {file.name}") from None
    except OSError as error:
        raise RunDirectoryError(f"{file}: {error.strerror}") from error
    except OverlayError as error:
        raise RunDirectoryError(f"{error}") from error
