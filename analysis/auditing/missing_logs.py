"""The check that every node of a run has logged.

A broker or a driver writes the record `started` before anything else, so a node without one in a variant did not write
a log, or its log was removed, emptied, or never copied from its host. Everything that it did is then missing, and
neither losses nor link loads can be known.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import UNSET

from analysis.auditing.evidence import Evidence
from analysis.auditing.finding import none_allowed, unmeasured
from record.fidelity import Check
from record.manifest import PhaseName

NAME = "nodes without a log"
UNIT = "nodes"


def missing_logs(evidence: Evidence) -> Iterable[Check]:
    """The check on one variant; not measured where it ended before its run phase, or names no drivers."""
    variant, logs = evidence.variant, evidence.logs
    if variant.drivers is UNSET or variant.phase(PhaseName.RUN) is None:
        yield unmeasured(NAME, UNIT, "the manifest does not name the nodes that reached the run phase")
        return
    brokers = {broker.id for broker in evidence.overlay.brokers} if variant.brokers_log else set()
    nodes = sorted(brokers | {*variant.drivers, *(variant.event_logs or ())})
    started = {found.node for found in logs.started if found.variant == evidence.number}
    missing = [node for node in nodes if node not in started]
    yield none_allowed(
        NAME,
        UNIT,
        missing,
        meaning="these nodes ran and their logs hold no start of this variant, so nothing is known of what they did",
        otherwise=f"all {len(nodes):,} nodes logged their start",
    )
