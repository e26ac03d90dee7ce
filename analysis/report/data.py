"""All a report shows, read from a run directory whose analysis is done."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
from pyspark.sql import SparkSession

from analysis.errors import RunDirectoryError
from analysis.results import read_table
from analysis.run_directory import TOPOLOGY
from analysis.summary import Summary, read_summary
from analysis.tables import BrokerMessages, DelayDistribution, DelayOverTime, LinkLoad, PhaseTimes, QueueLength
from topology.files import load
from topology.model import Overlay, OverlayError


class Choice(msgspec.Struct, frozen=True):
    """A rung of the capability ladder and why it was taken."""

    name: str
    reason: str


class HostDescription(msgspec.Struct, frozen=True):
    cpus: int
    memory: int
    processor: str
    system: str


class VariantDescription(msgspec.Struct, frozen=True):
    name: str
    topology: str = TOPOLOGY


class RunDescription(msgspec.Struct, frozen=True):
    """What the report shows of `manifest.json`."""

    run_id: str
    created: str
    scenario: dict[str, Any]
    seed: int
    runtime: Choice
    links: Choice
    kernel: str
    host: HostDescription
    variants: list[VariantDescription] = []
    versions: dict[str, str] = {}
    image: str | None = None
    git_revision: str | None = None
    clock: str = ""
    interrupted: bool = False


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


class VariantFidelity(msgspec.Struct, frozen=True):
    name: str
    verdict: str
    checks: list[FidelityCheck]
    links: list[LinkProbe]


class FidelityReport(msgspec.Struct, frozen=True):
    """What the report shows of `fidelity.json`."""

    verdict: str = "UNKNOWN"
    variants: list[VariantFidelity] = []

    def of(self, variant: str) -> VariantFidelity | None:
        return next((each for each in self.variants if each.name == variant), None)


@dataclass(frozen=True)
class ReportData:
    """Everything on the page. Tables are small: their size follows brokers, links and seconds, not messages."""

    directory: Path
    run: RunDescription
    overlays: dict[str, Overlay]
    """By variant."""
    fidelity: FidelityReport
    summary: Summary
    delays: list[DelayOverTime]
    distribution: list[DelayDistribution]
    messages: list[BrokerMessages]
    links: list[LinkLoad]
    queues: list[QueueLength]
    phases: list[PhaseTimes]

    @property
    def variants(self) -> list[str]:
        return [variant.name for variant in self.summary.variants]


def read_report_data(session: SparkSession, directory: Path) -> ReportData:
    """Reads a run directory. Raises `RunDirectoryError` naming what is missing or wrong."""
    results = directory / "results"
    try:
        run = msgspec.json.decode((directory / "manifest.json").read_bytes(), type=RunDescription)
        fidelity_file = directory / "fidelity.json"
        fidelity = (
            msgspec.json.decode(fidelity_file.read_bytes(), type=FidelityReport)
            if fidelity_file.exists()
            else FidelityReport()
        )
        overlays = {variant.name: load(directory / variant.topology) for variant in run.variants}
    except (OSError, msgspec.DecodeError, OverlayError) as error:
        raise RunDirectoryError(f"{directory}: {error}") from error
    return ReportData(
        directory=directory,
        run=run,
        overlays=overlays,
        fidelity=fidelity,
        summary=read_summary(directory),
        delays=sorted(read_table(session, results, DelayOverTime), key=lambda row: row.second),
        distribution=sorted(read_table(session, results, DelayDistribution), key=lambda row: row.lower_ms),
        messages=read_table(session, results, BrokerMessages),
        links=read_table(session, results, LinkLoad),
        queues=sorted(read_table(session, results, QueueLength), key=lambda row: row.second),
        phases=sorted(read_table(session, results, PhaseTimes), key=lambda row: row.start_ns),
    )
