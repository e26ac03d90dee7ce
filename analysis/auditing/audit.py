"""The audit of one variant: every check that can be made of a run from what it left behind.

1. An audit asks whether the logs of a run can be the logs of the run that was asked for. `fidelity.json`, which is
   written while a run lasts, has the checks that need the host.
2. An audit is a function from `Evidence` to checks. It assumes nothing that it could measure, and it shares no code
   with brokers, emulation and simulator, because it judges them.
3. The verdict on a variant's fidelity is the worst of both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from msgspec import UNSET

from analysis.auditing import log_ends, missing_logs
from analysis.auditing.budget_audit import budget_audit
from analysis.auditing.causes import causes
from analysis.auditing.evidence import Evidence
from analysis.auditing.finding import unmeasured
from analysis.auditing.gauge_audit import gauge_audit
from analysis.auditing.link_audit import link_audit
from analysis.auditing.message_counts import message_counts
from analysis.auditing.plan_audit import plan_audit
from analysis.auditing.processor_counts import processor_counts
from analysis.auditing.processor_waits import processor_waits
from analysis.auditing.program_audit import program_audit
from analysis.auditing.service_audit import service_audit
from analysis.auditing.unplanned import unplanned
from analysis.auditing.unsampled_hosts import unsampled_hosts
from record.contract import UNKNOWN_WORK
from record.fidelity import Check

Audit = Callable[[Evidence], Iterable[Check]]

AUDITS: Sequence[Audit] = (
    missing_logs.missing_logs,
    log_ends.log_ends,
    program_audit,
    message_counts,
    gauge_audit,
    causes,
    plan_audit,
    unplanned,
    link_audit,
    service_audit,
    processor_waits,
    processor_counts,
    unsampled_hosts,
    budget_audit,
)
"""In the order in which reports show their checks."""

COMPLETENESS = frozenset({missing_logs.NAME, log_ends.ENDS, log_ends.COUNTS, log_ends.LINES})
"""The checks by which logs lack records, so that a loss cannot be told from a missing record."""


OF_BROKER_LOGS: frozenset[Audit] = frozenset(
    {message_counts, gauge_audit, causes, unplanned, link_audit, service_audit, processor_counts, budget_audit}
)
"""Audits that hold records of brokers against each other, or against those of clients."""


def audit(evidence: Evidence) -> list[Check]:
    """The checks of every audit of a variant. Those that brokers' logs are needed for are not measured without them."""
    foreign = evidence.variant.foreign
    if foreign is UNSET:
        return [check for make in AUDITS for check in make(evidence)]
    found = [unmeasured("contention in the delays", "%", UNKNOWN_WORK)]
    for make in AUDITS:
        for check in make(evidence):
            lacking = not foreign.logs and (make in OF_BROKER_LOGS or check.name == log_ends.GAUGES)
            found.append(unmeasured(check.name, check.unit, foreign.reason) if lacking else check)
    return found
