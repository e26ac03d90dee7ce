"""The verdict on a run is the worst of its checks while it lasted, of the audit, and of the figures that count."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from analysis.engines import PlainEngine
from analysis.pipeline import analyze
from analysis.tables.audited import with_audit
from analysis.tables.summary import Summary, VariantSummary
from record.fidelity import Fidelity, FidelityVerdict, VariantFidelity
from record.figures import JUDGED_LATER, Figure, FigureVerdict
from record.manifest import MODELLED
from tests.analysis.delays import MEASURED, delay
from tests.analysis.history import joined, write_run
from tests.analysis.report.empty_summaries import empty_variant


def variant(figure: Figure, *, counts: bool) -> VariantSummary:
    invalid = FigureVerdict(
        figure=figure, value_ms=MEASURED[figure], contention_ms=15.0, unexplained_ms=0.0,
        verdict=FidelityVerdict.INVALID, counts=counts, reason="15.0 ms are this host's",
    )  # fmt: skip
    return replace(empty_variant("base"), delay=replace(delay(None), figures=[invalid]))


def judged(found: VariantSummary) -> VariantFidelity:
    own = VariantFidelity(name="base", verdict=FidelityVerdict.VALID, checks=[JUDGED_LATER])
    fidelity = with_audit(Fidelity(verdict=FidelityVerdict.VALID, variants=[own]), summary(found))
    assert fidelity is not None
    assert fidelity.verdict is fidelity.variants[0].verdict
    return fidelity.variants[0]


def summary(found: VariantSummary) -> Summary:
    return Summary(
        run_id="run", delivery=["correct"], fidelity="VALID", interrupted=False, logs=None, variants=[found],
        comparison=None,
    )  # type: ignore[arg-type]  # fmt: skip


def test_a_figure_that_counts_decides() -> None:
    found = judged(variant(Figure.MEAN, counts=True))
    assert found.verdict is FidelityVerdict.INVALID
    assert found.reasons == ["mean delay: 15.0 ms are this host's"]
    assert JUDGED_LATER not in found.checks


def test_a_figure_that_does_not_count_is_shown_where_it_is_printed_alone() -> None:
    found = judged(variant(Figure.P99, counts=False))
    assert (found.verdict, found.reasons) == (FidelityVerdict.VALID, [])


def test_a_run_of_whose_mean_nothing_is_known_needs_care(tmp_path: Path) -> None:
    history = joined("base").publish().notify(at=110.2)
    unknown = analyze(write_run(tmp_path / "unknown", [history]), PlainEngine())
    assert unknown.fidelity == unknown.variants[0].fidelity == FidelityVerdict.DEGRADED
    simulated = analyze(write_run(tmp_path / "simulated", [history], links=MODELLED), PlainEngine())
    assert simulated.fidelity == simulated.variants[0].fidelity == FidelityVerdict.VALID
