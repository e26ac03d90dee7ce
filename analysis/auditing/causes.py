"""The check that no effect is logged before its cause, which also compares the clocks of nodes through the whole run.

A broker whose clock is off receives before its neighbours send, or sends after they receive; clients whose clock is off
are notified before their broker has the publication. What a broker that was killed did last may be missing from its
log, so its passages are left out. Times of different hosts agree to within the smallest delay of a link, or the run
cannot tell the order of what happens at the two ends of that link.
"""

from __future__ import annotations

from collections.abc import Iterable

from analysis.auditing.evidence import Evidence
from analysis.auditing.finding import none_allowed
from analysis.judging.journeys.causes import CLIENTS, Lead
from record.faults import FaultKind
from record.fidelity import Check
from record.time_units import MILLISECOND, SECOND

NAME, UNIT = "effects logged before their causes", "passages"
TOLERANCE = MILLISECOND // 10
"""Nanoseconds by which two times may contradict each other at least."""


def causes(evidence: Evidence) -> Iterable[Check]:
    """The check of one variant."""
    killed = {
        fault.target
        for fault in evidence.logs.outages
        if fault.variant == evidence.number and fault.begins and fault.kind == FaultKind.KILL
    }
    tolerance = _tolerance(evidence)
    wrong = [
        _sentence(lead)
        for lead in evidence.causes
        if lead.variant == evidence.number and not {lead.source, lead.target} & killed
        if lead.worst.by > tolerance
    ]
    yield none_allowed(
        NAME, UNIT, wrong,
        meaning="the clocks of these nodes disagree, or times were changed, so no delay is right",
        otherwise=f"no message arrived more than {tolerance / MILLISECOND:g} ms before it was sent",
    )  # fmt: skip


def _tolerance(evidence: Evidence) -> float:
    links = evidence.overlay.links
    delays = [delay for link in links for delay in (link.forward.delay, link.backward.delay)]
    return max(TOLERANCE, min(delays, default=0.0) * SECOND)


def _sentence(lead: Lead) -> str:
    by = f"{lead.publications:,} publications, {lead.worst.publication} by {lead.worst.by / MILLISECOND:,.1f} ms"
    if lead.source == lead.target == CLIENTS:
        return f"clients were notified before publishers published ({by})"
    if lead.target == CLIENTS:
        return f"clients of {lead.source} were notified before it received ({by})"
    return f"{lead.target} received before {lead.source} sent ({by})"
