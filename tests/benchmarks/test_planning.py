"""Predictions are not held against figures in which other programs have a part."""

from __future__ import annotations

from unittest.mock import MagicMock

import pytest

from analysis.tables.summary import VariantSummary
from benchmarks.planning import compared
from emulation.prediction.predict import Load, VariantPrediction
from record.fidelity import FidelityVerdict, ProcessorUse, VariantFidelity
from tests.analysis.delays import delay, parts

LOAD = Load(dilation=1.0, processors=0.1, contention=0.001, delay=0.01)
PREDICTED = VariantPrediction(name="base", load=LOAD, least=LOAD, memory=1, records=1, seconds=1.0, analysis=1.0)


@pytest.mark.parametrize(
    ("busy", "contention"),
    [(0.2, 0.05), (0.9, None)],
)
def test_contention_beside_other_programs_is_not_compared(busy: float, contention: float | None) -> None:
    judged = VariantFidelity(
        name="base", verdict=FidelityVerdict.VALID, checks=[], processors=ProcessorUse(busy=busy, own=0.1)
    )
    summary = MagicMock(spec=VariantSummary, delay=delay(parts(contention=1.0)))
    rows = {row.subject: row for row in compared(PREDICTED, judged, summary)}
    assert rows["processors"].measured == pytest.approx(judged.processors.share if judged.processors else 0)
    assert rows["contention's share of the delay"].measured == contention
