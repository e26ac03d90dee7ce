"""A VALID run of brokers that are not brokerlab's says what nobody measured."""

from __future__ import annotations

from analysis.report.sentences.fidelity import FIDELITY_SENTENCES, fidelity_sentences
from record.contract import CONTRACT, UNKNOWN_WORK, ForeignBrokers
from record.fidelity import Check, FidelityVerdict, VariantFidelity


def _check(name: str, detail: str) -> Check:
    return Check(name=name, value=None, unit="%", limit=None, verdict=FidelityVerdict.VALID, detail=detail)


def test_checks_that_were_not_measured_are_named() -> None:
    reason = ForeignBrokers(contract=CONTRACT, level=1).reason
    checks = [
        _check("links", "as asked"),
        _check("starts", f"not measured: {reason}"),
        _check("contention", f"not measured: {UNKNOWN_WORK}"),
    ]
    found = VariantFidelity(name="base", verdict=FidelityVerdict.VALID, checks=checks)
    (sentence,) = fidelity_sentences(found, ["correct"])
    assert "2 of 3 checks were not measured" in sentence
    assert sentence.endswith("starts, contention.")


def test_other_runs_say_what_they_said() -> None:
    found = VariantFidelity(name="base", verdict=FidelityVerdict.VALID, checks=[_check("links", "not measured: none")])
    assert fidelity_sentences(found, ["correct"]) == [FIDELITY_SENTENCES[FidelityVerdict.VALID]]
