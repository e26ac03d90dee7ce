"""The check that clients published what was planned: each as often as planned, and at the times that were planned.

The emulator writes into the manifest how many publications the workload has for each client, and when they are due in
the mean. Drivers log what they issue. The beginning of the workload is the same for all clients, so the mean of the
intended times of each lies as far behind it as planned.
"""

from __future__ import annotations

from collections.abc import Iterable
from statistics import median

from msgspec import UNSET

from analysis.auditing.evidence import Evidence
from analysis.auditing.finding import none_allowed, unmeasured
from analysis.judging.journeys.issued import Issued
from record.fidelity import Check
from record.time_units import MILLISECOND

NAME, UNIT = "publications not issued as planned", "clients"
TOLERANCE = MILLISECOND
"""Nanoseconds by which the mean of a client's intended times may differ."""


def plan_audit(evidence: Evidence) -> Iterable[Check]:
    """The check of one variant; not measured where the variant was ended early, or no plan is on record."""
    variant = evidence.variant
    if variant.planned is UNSET or variant.interrupted or _defects(evidence):
        yield unmeasured(NAME, UNIT, "the workload was not issued to its end, or no plan is on record")
        return
    issued = {client: found for (number, client), found in evidence.issued.clients.items() if number == evidence.number}
    wrong = []
    begins = {}
    for client in sorted(variant.planned.keys() | issued.keys()):
        planned, found = variant.planned.get(client), issued.get(client, Issued(0, 0))
        count = 0 if planned is None else planned.publications
        if count != found.publications:
            wrong.append(f"{client} was to publish {count:,} times and published {found.publications:,} times")
        elif planned is not None and count:
            begins[client] = found.due / count - planned.mean_time / variant.time_dilation
    begin = median(begins.values()) if begins else 0.0
    for client, own in begins.items():
        if abs(own - begin) > TOLERANCE:
            off = abs(own - begin) / MILLISECOND
            wrong.append(f"{client} published {off:,.1f} ms {'later' if own > begin else 'earlier'} than planned")
    yield none_allowed(
        NAME, UNIT, wrong,
        meaning="the workload is another one than was asked for",
        otherwise=f"all {len(issued):,} publishing clients issued what was planned",
    )  # fmt: skip


def _defects(evidence: Evidence) -> bool:
    return any(defect.variant == evidence.number for defect in evidence.logs.defects)
