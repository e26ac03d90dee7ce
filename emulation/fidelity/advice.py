"""Advice for a run that is not VALID, other than for its figures of delays.

For a relay that did not get a processor, the advice is an estimate of the time dilation under which the host would keep
up; for every other failed check, it is the remedy that stands beside the limit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from emulation.fidelity import thresholds
from emulation.fidelity.thresholds import Threshold
from record.fidelity import Check, FidelityVerdict, ProcessorUse
from record.slower_run import AIM, SATURATED, estimated_dilation, others_are_in_the_way, others_took_much

SHORTAGES: tuple[Threshold, ...] = (thresholds.RELAY_HELD_UP, thresholds.RELAY_MISSED)
"""Checks that fail for lack of processors."""
REMEDIES: Mapping[str, str] = {
    limit.name: limit.remedy
    for limit in vars(thresholds).values()
    if isinstance(limit, Threshold) and limit not in SHORTAGES
}
"""The remedy of each other check, by the check's name."""


def advice(checks: Iterable[Check], processors: ProcessorUse | None, dilation: float) -> str:
    """One or a few sentences of advice for a run on real brokers; empty for a VALID one."""
    failed = [check for check in checks if check.verdict is not FidelityVerdict.VALID]
    short = [check for check in failed if check.name not in REMEDIES]
    slower = _slower(processors or ProcessorUse(busy=0.0, own=None), dilation) if short else ""
    return ". ".join(filter(None, (slower, remedies(failed))))


def remedies(checks: Iterable[Check]) -> str:
    """The remedies of failed checks other than lack of processors, severest first."""
    failed = [check for check in checks if check.verdict is not FidelityVerdict.VALID and check.name in REMEDIES]
    failed.sort(key=lambda check: -check.verdict.severity)
    return ". ".join(f"{check.name}: {REMEDIES[check.name]}" for check in failed)


def _slower(use: ProcessorUse, dilation: float) -> str:
    others = ""
    if others_took_much(use):
        others = f"Other programs took {use.others:.0%} of this host's processors: end those first. "
    if others_are_in_the_way(use):
        return f"{others}The run itself took {use.share:.0%}, which leaves room enough at a dilation of {dilation:g}"
    least = " or more" if use.busy > SATURATED else ""
    return (
        f"{others}This host was too slow: an estimated `--set time_dilation={estimated_dilation(use, 1.0, dilation)}`"
        f"{least} would let it keep up (the run took {use.share:.0%} of the processors at a dilation of {dilation:g}; "
        f"{AIM:.0%} leaves room for bursts)"
    )
