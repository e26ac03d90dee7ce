"""Runs on real brokers beside their simulated twins, which a reproduction makes of every run that is not simulated."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import msgspec

from analysis.compare.model import VariantComparison
from analysis.compare.twin import compare_with_twin
from analysis.engines import PlainEngine
from analysis.pipeline import analyze
from emulation.planning.plan import Plan
from emulation.simulation.twin import simulate_twin, twin_plan
from record.errors import BadInputError


class BesideTwin(msgspec.Struct, frozen=True, kw_only=True):
    """One variant on real brokers beside its simulated twin, mean delays in milliseconds; null without notifications,
    and where the parts of delays are not known."""

    variant: str
    mean_ms: float | None
    twin_mean_ms: float | None
    left_over_ms: float | None
    """The part of their difference that no known cause explains."""
    stands_out: bool
    """True where that is more than may be passed over."""


def beside_twin(plan: Plan, run: Path) -> tuple[BesideTwin, ...]:
    """Simulates the twin of an analysed run of a plan, in its directory, and compares; nothing of a scenario that the
    simulator cannot run. Raises `UserError`s."""
    try:
        planned = twin_plan(replace(plan, run_id=run.name))
    except BadInputError:
        return ()
    twin = simulate_twin(planned, run.parent)
    analyze(twin.directory, PlainEngine())
    comparison = compare_with_twin(run)
    return () if comparison is None else tuple(map(_figures, comparison.variants))


def twin_lines(runs: Sequence[tuple[str, Sequence[BesideTwin]]]) -> Iterator[str]:
    """A line on each run whose differences from its twin nobody explains, and one on the others. Runs have names."""
    compared = [(name, [one for one in variants if one.left_over_ms is not None]) for name, variants in runs]
    unexplained = [(name, [one for one in known if one.stands_out]) for name, known in compared if known]
    for name, variants in unexplained:
        if variants:
            yield (
                f"mean delays beside the simulated twin, {name}: {'; '.join(map(_in_words, variants))}; what is left "
                "over is of the emulation or of the simulator, unknown which"
            )
    if calm := sum(not variants for _, variants in unexplained):
        yield (
            f"{calm} of {len(unexplained)} runs on real brokers differ from their simulated twins by no more than is "
            "explained"
        )


def _figures(variant: VariantComparison) -> BesideTwin:
    mean = None if variant.delay is None else variant.delay.of("mean")
    parts = variant.mean
    return BesideTwin(
        variant=variant.name,
        mean_ms=None if mean is None else mean.second.value,
        twin_mean_ms=None if mean is None else mean.first.value,
        left_over_ms=None if parts is None else parts.left_over,
        stands_out=parts is not None and parts.stands_out,
    )


def _in_words(one: BesideTwin) -> str:
    return f"{one.variant} {one.mean_ms:,.1f} ms instead of {one.twin_mean_ms:,.1f}, {one.left_over_ms:+,.1f} left over"
