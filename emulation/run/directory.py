"""The run directory, whatever the brokers run on: what is in it from the start, and the verdict at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

import msgspec

from emulation.fidelity import Measurements
from emulation.fidelity.logs import Span, scan
from emulation.host import provenance
from emulation.host.run_paths import RunPaths
from emulation.planning.plan import Plan, VariantPlan
from emulation.verification.records import answers
from record import fidelity, manifest
from record.errors import DISK_IS_FULL, unusable_directory
from record.fidelity import Fidelity, VariantFidelity, worst
from record.files import MOVEMENTS, SITES, TOPOLOGY, UNDERLAY, log_files
from record.host_speed import HostSpeed
from record.manifest import ChargedCosts, HostRecord, Manifest, PhaseName, RungChoice, VariantRecord
from topology.files import save as save_overlay
from topology.mobility.movement_files import to_bonnmotion
from topology.model import Overlay
from topology.sites import Site, save_sites
from topology.underlays.underlay_files import save_underlay


@dataclass(slots=True)
class RunOutcome:
    """Outcome of a run."""

    directory: Path
    fidelity: Fidelity
    interrupted: bool
    began: bool
    """True when at least one variant reached its run phase."""
    defect: str = ""
    """Names the broker whose own code failed, so that the run ended early; empty where none did."""
    hurried: bool = False
    """True where whoever asked for the end waits for that of the command, so that no analysis is to follow."""


def write_manifest(
    plan: Plan,
    paths: RunPaths,
    runtime: RungChoice,
    links: RungChoice,
    *,
    clock: str,
    image: str | None = None,
    foreign_images: Mapping[str, str] = MappingProxyType({}),
    program: str | msgspec.UnsetType = msgspec.UNSET,
    at_rest: ChargedCosts | msgspec.UnsetType = msgspec.UNSET,
    host_speed: HostSpeed | msgspec.UnsetType = msgspec.UNSET,
    calibration_origin: str | msgspec.UnsetType = msgspec.UNSET,
    hosts: Sequence[HostRecord] = (),
) -> Manifest:
    """Writes the manifest of a run that is about to begin, and returns it. `hosts` are those that share the run."""
    record = Manifest(
        run_id=plan.run_id,
        created=plan.created.isoformat(timespec="seconds"),
        scenario=plan.scenario.resolved(),
        seed=plan.seed,
        runtime=runtime,
        links=links,
        versions=provenance.versions(),
        image=image,
        foreign_images=dict(foreign_images) or msgspec.UNSET,
        program=program,
        at_rest=at_rest,
        host_speed=host_speed,
        calibration_origin=calibration_origin,
        dilation=plan.dilation,
        kernel=provenance.kernel(),
        git_revision=provenance.git_revision(),
        clock=clock,
        host=provenance.host(),
        hosts=list(hosts),
    )
    manifest.write(record, paths.directory)
    return record


@dataclass(frozen=True, slots=True)
class OverlayFiles:
    """The files that hold a variant's overlay, by their names in the run directory."""

    topology: str
    underlay: str | msgspec.UnsetType
    """File of the network of routers; not set for a topology without one."""
    movements: str | msgspec.UnsetType = msgspec.UNSET
    """File of the brokers' movements; not set where brokers stay in place."""
    sites: str | msgspec.UnsetType = msgspec.UNSET
    """File of the clients' sites; not set where there are none."""


def save_overlays(plan: Plan, paths: RunPaths) -> list[OverlayFiles]:
    """Saves the overlay of each variant, and what it is laid over; returns the names of the files.

    They are `topology.json` and `underlay.json`, and further ones for each overlay that differs from the first; the
    same holds of `overlay.movements` and `sites.json`.
    """
    saved: list[tuple[OverlayFiles, Overlay]] = []
    names: list[OverlayFiles] = []
    moved: dict[str, str] = {}
    placed: dict[tuple[Site, ...], str] = {}
    for variant in plan.variants:
        files = next((files for files, overlay in saved if overlay == variant.overlay), None)
        if files is None:
            own = paths.variant(variant.name).name
            topology_file, underlay_file = TOPOLOGY, UNDERLAY
            if saved:
                topology_file, underlay_file = f"topology-{own}.json", f"underlay-{own}.json"
            save_overlay(variant.overlay, paths.directory / topology_file)
            underlay = variant.scenario.topology.underlay(variant.scenario.seed)
            if underlay is not None:
                save_underlay(underlay, paths.directory / underlay_file)
            files = OverlayFiles(topology_file, msgspec.UNSET if underlay is None else underlay_file)
            saved.append((files, variant.overlay))
        movements, sites = _save_movements(variant, paths, moved), _save_sites(variant, paths, placed)
        names.append(replace(files, movements=movements, sites=sites))
    return names


def _save_movements(variant: VariantPlan, paths: RunPaths, saved: dict[str, str]) -> str | msgspec.UnsetType:
    """Saves the movements of a variant's brokers unless `saved` has them already; returns the name of the file."""
    ways = variant.scenario.movements()
    if not ways:
        return msgspec.UNSET
    text = to_bonnmotion(ways.values())
    if text not in saved:
        saved[text] = f"overlay-{paths.variant(variant.name).name}.movements" if saved else MOVEMENTS
        (paths.directory / saved[text]).write_text(text)
    return saved[text]


def _save_sites(variant: VariantPlan, paths: RunPaths, saved: dict[tuple[Site, ...], str]) -> str | msgspec.UnsetType:
    """Saves the sites of a variant's clients unless `saved` has them already; returns the name of the file."""
    if not variant.sites:
        return msgspec.UNSET
    if variant.sites not in saved:
        saved[variant.sites] = f"sites-{paths.variant(variant.name).name}.json" if saved else SITES
        save_sites(variant.sites, paths.directory / saved[variant.sites])
    return saved[variant.sites]


@contextmanager
def full_disk_in_words(directory: Path) -> Iterator[None]:
    """Makes a full disk one line that names the remedy."""
    try:
        yield
    except OSError as error:
        if error.errno not in DISK_IS_FULL:
            raise
        raise unusable_directory(directory, error) from error


def conclude(
    paths: RunPaths,
    record: Manifest,
    measured: Sequence[Measurements],
    judge: Callable[[Measurements], VariantFidelity],
) -> RunOutcome:
    """Adds measurements from the logs, and writes the fidelity verdict on every variant that reached its run phase."""
    spans = {variant.name: span for variant in record.variants if (span := _span(variant)) is not None}
    found = scan(log_files(paths.logs), spans)
    published = [variant for variant in measured if variant.variant in found]
    for variant in published:
        variant.logs = found[variant.variant]
        variant.faults += answers(variant.questions, paths.logs, variant.variant)
    judged = [judge(variant) for variant in published]
    verdict = Fidelity(verdict=worst(variant.verdict for variant in judged), variants=judged)
    fidelity.write(verdict, paths.directory)
    defect = next((variant.defect for variant in measured if variant.defect), "")
    return RunOutcome(paths.directory, verdict, record.interrupted, bool(spans), defect)


def _span(variant: VariantRecord) -> Span | None:
    """The times of a variant; None when it never came as far as publishing."""
    begin = min((phase.start for phase in variant.phases), default=0)
    end = max((phase.end for phase in variant.phases), default=0)
    run = variant.phase(PhaseName.RUN)
    return None if run is None else Span(begin, run.start, run.end, end)
