"""The check on planned faults: each change that the plan has happened as planned, as far as it could be verified."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from emulation.fidelity import thresholds
from emulation.verification.findings import Finding
from record.fidelity import Check
from record.time_units import SECOND
from record.wording import count_of

_SHOWN = 3
"""Faults that a detail names at most."""


def planned_faults(findings: Sequence[Finding], dilation: float) -> Iterator[Check]:
    """The check; none for a variant without faults. A change that is looked at in several ways counts once."""
    if not findings:
        return
    changes: dict[tuple[str, int], list[Finding]] = defaultdict(list)
    for finding in findings:
        changes[finding.change, finding.at].append(finding)
    wrong = [next(one for one in found if one.wrong) for found in changes.values() if any(one.wrong for one in found)]
    unknown = [found[0] for found in changes.values() if all(one.unverified for one in found)]
    verified = len(changes) - len(unknown) - len(wrong)
    detail = f"{verified} of {count_of(len(changes), 'change')} verified"
    if unknown:
        detail += f"; not verified: {_listed(_in_words(one, one.unverified, dilation) for one in unknown)}"
    threshold = thresholds.PLANNED_FAULTS
    verdict = threshold.verdict(len(wrong))
    if wrong:
        detail = f"{_listed(_in_words(one, one.wrong, dilation) for one in wrong)}: {threshold.meaning} ({detail})"
    yield Check(
        name=threshold.name, value=len(wrong), unit=threshold.unit, limit=threshold.degraded, verdict=verdict,
        detail=detail,
    )  # fmt: skip


def _in_words(finding: Finding, what: str, dilation: float) -> str:
    return f"{finding.change} at {finding.at / SECOND / dilation:g} s: {what}"


def _listed(texts: Iterable[str]) -> str:
    listed = list(texts)
    return "; ".join(listed[:_SHOWN]) + (f"; and {len(listed) - _SHOWN} more" if len(listed) > _SHOWN else "")
