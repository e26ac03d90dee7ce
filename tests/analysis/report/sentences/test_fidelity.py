"""Sentences on the fidelity verdict give its reasons."""

from __future__ import annotations

from analysis.report.sentences.fidelity import FIDELITY_SENTENCES, fidelity_sentences
from analysis.tables.summary import BROKER_DEFECT
from record.fidelity import Check, FidelityVerdict, VariantFidelity


def test_reasons_follow_a_verdict_that_is_not_valid() -> None:
    def check(name: str, value: float, unit: str, limit: float, verdict: FidelityVerdict, detail: str) -> Check:
        return Check(name=name, value=value, unit=unit, limit=limit, verdict=verdict, detail=detail)

    degraded = check("event loop", 12.0, "ms", 10.0, FidelityVerdict.DEGRADED, "worst at B7")
    invalid = check("relay", 3.0, "ms", 1.0, FidelityVerdict.INVALID, "late")
    kept = check("CPU idle", 0.5, "share", 0.1, FidelityVerdict.VALID, "fine")
    judged = VariantFidelity(name="fixed", verdict=FidelityVerdict.INVALID, checks=[kept, degraded, invalid])
    found = fidelity_sentences(judged, ["lost"])
    assert found[1:] == ["relay: late", "event loop: worst at B7"]
    assert fidelity_sentences(None, ["lost"]) == [FIDELITY_SENTENCES["UNKNOWN"]]
    assert fidelity_sentences(judged, [BROKER_DEFECT]) == [FIDELITY_SENTENCES["INVALID"]]
