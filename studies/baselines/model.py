"""The file of a baseline, YAML, which lives in the user's own repository."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
import yaml

from analysis.judging.limits import figure_of
from analysis.run_files.run_directory import read_manifest
from analysis.tables.summary import CORRECT, Summary, VariantSummary, read_summary
from record.errors import BadInputError
from record.fidelity import FidelityVerdict
from record.files import replace_file
from record.limits import LimitedFigure
from scenario.yaml_files.source import read
from studies.baselines.plan_digest import plan_digest

FORMAT = 1
DIRECTORY = Path("baselines")
"""The directory of baselines, relative to where the command is given."""
FIGURES = tuple(figure for figure in LimitedFigure if figure is not LimitedFigure.MEMORY)
"""The figures that a baseline holds, as far as they are the overlay's."""
_SIGNIFICANT = 12
"""Digits of a figure."""
_HEADING = "# Figures of runs by variant and seed. `brokerlab emulate --against` compares later runs with them.\n"

Figures = dict[str, float]
"""Figures of one variant of one run, by name; only those that may be judged."""


class Baseline(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A baseline's file."""

    format: int = FORMAT
    scenario: str
    """The name of the scenario."""
    plan: str
    """The digest of what was asked for (`plan_digest`)."""
    runtime: str
    revision: str
    """The git revision of brokerlab; `unknown` where there is none."""
    variants: dict[str, dict[int, Figures]]
    """Figures by variant and seed. Delays in milliseconds, the recovery in seconds."""

    @property
    def seeds(self) -> list[int]:
        """All seeds, in order."""
        return sorted({seed for by_seed in self.variants.values() for seed in by_seed})


def baseline_file(name: str) -> Path:
    """The file of a baseline: the name itself where it is a path, otherwise a file in `DIRECTORY`."""
    return Path(name) if name.endswith((".yaml", ".yml")) or "/" in name else DIRECTORY / f"{name}.yaml"


def baseline_of(runs: Sequence[Path]) -> Baseline:
    """The baseline of analysed runs of one plan, each with another seed. Raises `UserError`s."""
    made: Baseline | None = None
    for run in runs:
        manifest, summary = read_manifest(run), read_summary(run)
        _require_held(run, summary)
        found = Baseline(
            scenario=str(manifest.scenario.get("name", "")),
            plan=plan_digest(manifest.scenario),
            runtime=manifest.runtime.name,
            revision=manifest.git_revision or "unknown",
            variants={variant.name: {manifest.seed: figures_of(variant)} for variant in summary.variants},
        )
        made = found if made is None else _together(made, found, run)
    if made is None:
        raise BadInputError("a baseline is made of one run at least")
    return made


def figures_of(variant: VariantSummary) -> Figures:
    """The figures of a variant that may be judged."""
    found = {figure.value: figure_of(variant, figure) for figure in FIGURES}
    return {
        name: float(f"{figure.value:.{_SIGNIFICANT}g}")
        for name, figure in found.items()
        if figure.judged and figure.value is not None
    }


def write_baseline(baseline: Baseline, file: Path) -> None:
    """Replaces the file in one step. Raises `BadInputError` where that is not possible."""
    text = yaml.safe_dump(msgspec.to_builtins(baseline), sort_keys=False, default_flow_style=None, width=120)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        replace_file(file, (_HEADING + text).encode())
    except OSError as error:
        raise BadInputError(f"{file}: cannot be written: {error.strerror}") from error


def read_baseline(file: Path) -> Baseline:
    """Reads a baseline. Raises `BadInputError` if the file does not exist or is no baseline of this version."""
    if not file.exists():
        raise BadInputError(f"{file}: there is no such baseline; `brokerlab baseline save` makes one")
    try:
        baseline = msgspec.convert(read(file).data, Baseline, strict=False)
    except msgspec.ValidationError as error:
        raise BadInputError(f"{file}: is no baseline of this version of brokerlab: {error}") from error
    if baseline.format != FORMAT:
        raise BadInputError(f"{file}: has format {baseline.format}, and this version reads {FORMAT}; save it again")
    return baseline


def require_same_plan(baseline: Baseline, file: Path, scenario: Mapping[str, object], runtime: str | None) -> None:
    """Raises `BadInputError` where a run would ask for something else than the runs of the baseline.

    `runtime` is None as long as none is chosen.
    """
    if (digest := plan_digest(scenario)) != baseline.plan:
        raise BadInputError(
            f"--against {file}: is of another plan ({baseline.plan}, and this one is {digest}): a run with another "
            "overlay, workload, timeline or option cannot be worse or better; save a new baseline"
        )
    if runtime is not None and runtime != baseline.runtime:
        raise BadInputError(
            f"--against {file}: is of the runtime {baseline.runtime}, and this run is {runtime}; give --runtime "
            f"{baseline.runtime}"
        )


def _require_held(run: Path, summary: Summary) -> None:
    if summary.delivery != [CORRECT]:
        raise BadInputError(f"{run}: its deliveries are {', '.join(summary.delivery)}; save a run that is correct")
    if summary.interrupted or summary.fidelity not in (FidelityVerdict.VALID, FidelityVerdict.DEGRADED):
        state = "interrupted" if summary.interrupted else summary.fidelity
        raise BadInputError(f"{run}: is {state}, so that its figures are not those of the overlay; save another one")


def _together(made: Baseline, found: Baseline, run: Path) -> Baseline:
    for field in ("plan", "runtime", "revision"):
        mine, other = getattr(made, field), getattr(found, field)
        if mine != other:
            raise BadInputError(f"{run}: has another {field} ({other}) than the runs before it ({mine}); leave it out")
    if repeated := set(made.seeds) & set(found.seeds):
        raise BadInputError(f"{run}: the seed {min(repeated)} is there twice; runs are paired by their seeds")
    variants = {name: by_seed | found.variants.get(name, {}) for name, by_seed in made.variants.items()}
    return msgspec.structs.replace(made, variants=variants)
