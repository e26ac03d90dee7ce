"""Proofs about verdicts can fail, and their scenarios can be planned."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from analysis.engines import PlainEngine
from analysis.pipeline import analyze
from analysis.tables.summary import VariantSummary
from emulation.planning.plan import make_plan
from record.fidelity import FidelityVerdict
from record.figures import Figure
from scenario.loading import load
from tests.analysis.auditing.edited import CALM, run_of
from tests.fidelity_proof.proofs import DILATED, PROOFS, Proof, doubted, invalid, no_wrong_tail, valid


@pytest.fixture(scope="module")
def variant(tmp_path_factory: pytest.TempPathFactory) -> VariantSummary:
    (found,) = analyze(run_of(CALM, tmp_path_factory.mktemp("calm")), PlainEngine()).variants
    return found


def with_tail(variant: VariantSummary, verdict: FidelityVerdict) -> VariantSummary:
    """A variant whose 99th percentile is 15 ms, with this verdict on it."""
    figures = [
        replace(judged, verdict=verdict) if judged.figure is Figure.P99 else judged for judged in variant.delay.figures
    ]
    return replace(variant, delay=replace(variant.delay, p99_ms=15.0, figures=figures))


@pytest.mark.parametrize("proof", (*PROOFS, DILATED), ids=lambda proof: proof.name)
def test_every_proof_is_of_a_run_without_faults_that_can_be_planned(proof: Proof) -> None:
    scenario = load(Path(proof.scenario), proof.settings)
    assert not scenario.faults
    assert make_plan(scenario).variants


def test_verdicts_are_told_apart(variant: VariantSummary) -> None:
    bad = replace(variant, fidelity="INVALID")
    assert (valid(variant, 0.0), invalid(variant, 0.0)) == (True, False)
    assert (valid(bad, 0.0), invalid(bad, 0.0), doubted(bad, 0.0)) == (False, True, True)
    doubtful = replace(variant, fidelity="DEGRADED")
    assert (valid(doubtful, 0.0), invalid(doubtful, 0.0), doubted(doubtful, 0.0)) == (False, False, True)
    assert not doubted(variant, 0.0)


@pytest.mark.parametrize(
    ("verdict", "dilated", "holds"),
    [
        (FidelityVerdict.VALID, 10.0, True),
        (FidelityVerdict.VALID, 9.9, False),
        (FidelityVerdict.DEGRADED, 9.9, True),
        (FidelityVerdict.INVALID, 1.0, True),
    ],
)
def test_no_tail_is_valid_that_lies_half_above_the_dilated_one(
    variant: VariantSummary, verdict: FidelityVerdict, dilated: float, holds: bool
) -> None:
    assert no_wrong_tail(with_tail(variant, verdict), dilated) is holds
