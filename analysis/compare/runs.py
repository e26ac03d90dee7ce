"""An analysed run, as far as a comparison needs it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from msgspec import UNSET

from analysis.compare.model import Side
from analysis.run_files.blocks import Blocks, blocks_of
from analysis.run_files.run_directory import in_scenario_time, read_manifest
from analysis.tables.deliveries import Notification
from analysis.tables.results import read_table
from analysis.tables.summary import Summary, VariantSummary, read_summary
from record.errors import RunDirectoryError
from record.files import MANIFEST, RESULTS

Pair = tuple[str, str]
"""A publication and the client that was notified of it."""


@dataclass(frozen=True)
class Delays:
    """Delays of one variant's first notifications of each publication and client."""

    pairs: list[Pair]
    milliseconds: np.ndarray
    blocks: np.ndarray
    """Number of the block in which each publication was due."""

    def __len__(self) -> int:
        return len(self.pairs)


@dataclass(frozen=True)
class AnalysedRun:
    """Settings, summary and delays of one run."""

    side: Side
    summary: Summary
    delays: Mapping[str, Delays]
    """Delays of each variant."""
    follow_load: frozenset[str] = frozenset()
    """Variants whose routers decide by load."""

    @property
    def variants(self) -> dict[str, VariantSummary]:
        """Summaries of the variants by name, in the run's order."""
        return {variant.name: variant for variant in self.summary.variants}


def read_run(directory: Path) -> AnalysedRun:
    """Reads an analysed run. Raises `RunDirectoryError` where there is none, with the command that analyses the run."""
    manifest = read_manifest(directory)
    summary = read_summary(directory)
    side = Side(
        directory=str(directory),
        run_id=manifest.run_id,
        scenario=manifest.scenario.get("name", "unknown"),
        seed=manifest.seed,
        runtime=f"{manifest.runtime.name}, {manifest.links.name}",
        simulated=manifest.calibration is not UNSET,
        delivery=", ".join(summary.delivery),
        fidelity=summary.fidelity,
        publications_logged=_publications_logged(summary),
    )
    blocks = {variant.name: blocks_of(in_scenario_time(variant)) for variant in manifest.variants}
    follow_load = frozenset(variant.name for variant in manifest.variants if variant.follows_load is True)
    return AnalysedRun(side, summary, _delays(directory, blocks), follow_load)


def _publications_logged(summary: Summary) -> str:
    logged = (variant.sampled_logs for variant in summary.variants)
    shares = dict.fromkeys("all" if sample is UNSET else f"{100 * sample.share:.4g}%" for sample in logged)
    return ", ".join(shares)


def _delays(directory: Path, blocks: Mapping[str, Blocks]) -> dict[str, Delays]:
    rows: dict[str, list[Notification]] = defaultdict(list)
    for row in read_table(directory / RESULTS, Notification):
        if row.repeat == 0 and row.delay_ms is not None:
            rows[row.variant].append(row)
    if foreign := sorted(rows.keys() - blocks.keys()):
        raise RunDirectoryError(
            f"{directory / RESULTS}: they are of a variant {foreign[0]!r} that {directory / MANIFEST} does not have; "
            f"`brokerlab analyze {directory}` makes them anew"
        )
    return {
        variant: Delays(
            [(row.publication, row.client) for row in found],
            np.array([row.delay_ms for row in found], dtype=float),
            np.array([blocks[variant].number(row.second) for row in found], dtype=int),
        )
        for variant, found in rows.items()
    }
