"""Runs on real brokers beside their simulated twins, which a reproduction makes of every run that is not simulated."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import starmap
from pathlib import Path

from analysis.compare.model import MeanDifference, VariantComparison
from analysis.compare.twin import compare_with_twin
from analysis.engines import PlainEngine
from analysis.pipeline import analyze
from analysis.run_files.run_directory import read_manifest
from emulation.planning.calibration import load_calibration
from emulation.planning.plan import Plan
from emulation.simulation.twin import simulate_twin, twin_plan
from record.errors import BadInputError


def beside_twin(plan: Plan, run: Path) -> tuple[VariantComparison, ...]:
    """Simulates the twin of an analysed run of a plan, in its directory and with the shipped costs on that run's hosts,
    and compares; nothing of a scenario that the simulator cannot run. Raises `UserError`s."""
    try:
        planned = twin_plan(replace(plan, run_id=run.name))
    except BadInputError:
        return ()
    speeds = [speed.here for speed in read_manifest(run).speeds.values()]
    twin = simulate_twin(planned, run.parent, calibration=load_calibration().on_hosts(speeds))
    analyze(twin.directory, PlainEngine())
    comparison = compare_with_twin(run)
    return () if comparison is None else tuple(comparison.variants)


def twin_lines(runs: Sequence[tuple[str, Sequence[VariantComparison]]]) -> Iterator[str]:
    """A line on each run whose differences from its twin nobody explains, and one on the others. Runs have names."""
    compared = [(name, [(one.name, one.mean) for one in variants if one.mean]) for name, variants in runs]
    unexplained = [(name, [pair for pair in known if pair[1].stands_out]) for name, known in compared if known]
    for name, variants in unexplained:
        if variants:
            yield (
                f"mean delays beside the simulated twin, {name}: {'; '.join(starmap(_in_words, variants))}; what is "
                "left over is of the emulation or of the simulator, unknown which"
            )
    if calm := sum(not variants for _, variants in unexplained):
        yield (
            f"{calm} of {len(unexplained)} runs on real brokers differ from their simulated twins by no more than is "
            "explained"
        )


def _in_words(variant: str, mean: MeanDifference) -> str:
    return f"{variant} {mean.second:,.1f} ms instead of {mean.first:,.1f}, {mean.left_over:+,.1f} left over"
