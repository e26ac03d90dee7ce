"""The checks that clients did what was planned.

1. Each published as often as planned, at the times that were planned. The manifest states how many publications the
   workload has for each client, and when they are due in the mean. Drivers log what they issue. The beginning of the
   workload is the same for all clients, so the mean of the intended times of each lies as far behind it as planned.
2. What each published is what was planned: the manifest states the sum of the digests of identifiers and contents.
3. Each subscribed, advertised and withdrew what was planned, as often as planned, at the planned broker and, of
   composite subscriptions, with the planned window; the manifest states number and digests. What happens after clients
   began to leave is not in the plan. Times are not compared.

Clients that are programs of their own do what nobody planned, and are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from statistics import median

from msgspec import UNSET

from analysis.auditing.evidence import Evidence
from analysis.auditing.finding import none_allowed, unmeasured
from analysis.judging.journeys.issued import Issued
from analysis.reading.issued_operations import IssuedOperations
from record.fidelity import Check
from record.manifest import PlannedOperations, PlannedPublications
from record.time_units import MILLISECOND

NAME, UNIT = "publications not issued as planned", "clients"
OPERATIONS = "subscriptions and advertisements not issued as planned"
TOLERANCE = MILLISECOND
"""Nanoseconds by which the mean of a client's intended times may differ."""


def plan_audit(evidence: Evidence) -> Iterable[Check]:
    """The checks of one variant; not measured where the variant was ended early, or no plan is on record."""
    variant = evidence.variant
    if variant.planned is UNSET or variant.interrupted or _defects(evidence):
        for name in (NAME, OPERATIONS):
            yield unmeasured(name, UNIT, "the workload was not issued to its end, or no plan is on record")
        return
    yield _publications(evidence, variant.planned)
    yield _operations(evidence)


def _publications(evidence: Evidence, plan: Mapping[str, PlannedPublications]) -> Check:
    programs = _programs(evidence)
    issued = {
        found.client: found
        for found in evidence.issued
        if found.variant == evidence.number and found.client not in programs
    }
    wrong = []
    begins = {}
    for client in sorted(plan.keys() | issued.keys()):
        planned, found = plan.get(client), issued.get(client, Issued(evidence.number, client))
        count = 0 if planned is None else planned.publications
        if count != found.publications:
            wrong.append(f"{client} was to publish {count:,} times and published {found.publications:,} times")
        elif planned is not None and count:
            if planned.contents is not UNSET and planned.contents != found.contents:
                wrong.append(f"{client} published another content than planned")
            begins[client] = found.due / count - planned.mean_time / evidence.variant.time_dilation
    begin = median(begins.values()) if begins else 0.0
    for client, own in begins.items():
        if abs(own - begin) > TOLERANCE:
            off = abs(own - begin) / MILLISECOND
            wrong.append(f"{client} published {off:,.1f} ms {'later' if own > begin else 'earlier'} than planned")
    return none_allowed(
        NAME, UNIT, wrong,
        meaning="the workload is another one than was asked for",
        otherwise=f"all {len(issued):,} publishing clients issued what was planned",
    )  # fmt: skip


def _operations(evidence: Evidence) -> Check:
    plan = evidence.variant.planned_operations
    if plan is UNSET:
        return unmeasured(OPERATIONS, UNIT, "no plan of them is on record")
    number, programs = evidence.number, _programs(evidence)
    issued = {
        made.client: made for made in evidence.logs.issued if made.variant == number and made.client not in programs
    }
    wrong = []
    for client in sorted(plan.keys() | issued.keys()):
        planned = plan.get(client, PlannedOperations(operations=0, contents=0))
        made = issued.get(client, IssuedOperations(number, client))
        if planned.operations != made.count:
            wrong.append(f"{client} was to make {planned.operations:,} of them and made {made.count:,}")
        elif planned.contents != made.contents:
            wrong.append(f"{client} made others than planned")
        elif planned.places is not UNSET and planned.places != made.places:
            wrong.append(f"{client} made them at another broker, or with another window, than planned")
    return none_allowed(
        OPERATIONS, UNIT, wrong,
        meaning="clients asked for, or announced, something else than the workload has",
        otherwise=f"all {len(issued):,} clients that made any issued what was planned",
    )  # fmt: skip


def _programs(evidence: Evidence) -> frozenset[str]:
    programs = evidence.variant.programs
    return frozenset() if programs is UNSET else frozenset(programs)


def _defects(evidence: Evidence) -> bool:
    return any(defect.variant == evidence.number for defect in evidence.logs.defects)
