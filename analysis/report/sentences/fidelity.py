"""The fidelity verdict of a variant in words: the verdict, its reasons and the advice."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from analysis.tables.summary import BROKER_DEFECT, UNKNOWN_FIDELITY
from record.contract import is_of_foreign_brokers
from record.fidelity import FidelityVerdict, VariantFidelity

FIDELITY_SENTENCES: Mapping[str, str] = {
    FidelityVerdict.VALID: (
        "Links and logs were as requested, and next to nothing of the figures that count is contention."
    ),
    FidelityVerdict.DEGRADED: "Some requests were not quite met; the reasons below name the numbers that need care.",
    FidelityVerdict.INVALID: (
        "The emulation did not meet its requests: the numbers describe the hosts, not the overlay."
    ),
    UNKNOWN_FIDELITY: "Nothing is known about the fidelity of the emulation, because no fidelity.json judges it.",
}


def fidelity_sentences(fidelity: VariantFidelity | None, delivery: Collection[str]) -> list[str]:
    """The verdict on the emulation, the reasons why it is not VALID, and the advice.

    `delivery` are the verdicts on deliveries. After a defect of a broker's own code there are no reasons, because it is
    the reason for all that came after it.
    """
    if fidelity is None:
        return [FIDELITY_SENTENCES[UNKNOWN_FIDELITY]]
    if BROKER_DEFECT in delivery:
        return [FIDELITY_SENTENCES.get(fidelity.verdict, "")]
    advice = [f"{fidelity.advice}."] if fidelity.advice else []
    unknown = [check.name for check in fidelity.checks if is_of_foreign_brokers(check.detail)]
    if unknown and fidelity.verdict is FidelityVerdict.VALID:
        verdict = (
            f"What was measured was as requested. {len(unknown)} of {len(fidelity.checks)} checks were not measured,"
        )
        return [f"{verdict} because the brokers are not brokerlab's: {', '.join(unknown)}."]
    return [FIDELITY_SENTENCES.get(fidelity.verdict, ""), *fidelity.reasons, *advice]
