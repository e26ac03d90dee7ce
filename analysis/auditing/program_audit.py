"""The check that every node ran the program that the run was planned with.

A broker image of other sources, or a host with another checkout, makes brokers that are not those under test. Each
broker and each driver states the digest of its sources when it starts. Simulated ones have no program of their own:
they run inside of the process that writes the manifest, so nothing is compared and their logs state none.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import UNSET

from analysis.auditing.evidence import Evidence
from analysis.auditing.finding import none_allowed, unmeasured
from record.fidelity import Check

NAME = "programs"
UNIT = "nodes"


def program_audit(evidence: Evidence) -> Iterable[Check]:
    """The check on one variant; none of a simulated run, and not measured where the manifest states no program."""
    if evidence.modelled:
        return
    if evidence.program is None:
        yield unmeasured(NAME, UNIT, "the manifest does not state the program of brokers and drivers")
        return
    writers = set(evidence.variant.event_logs or ())
    if evidence.variant.foreign is not UNSET:  # whose brokers have programs of their own
        writers |= {broker.id for broker in evidence.overlay.brokers}
    stated = sorted(
        (started.node, started.program)
        for started in evidence.logs.started
        if started.variant == evidence.number and started.node not in writers
    )
    yield none_allowed(
        NAME,
        UNIT,
        [_of(node, program) for node, program in stated if program != evidence.program],
        meaning=f"the run was planned with the program of digest {evidence.program}",
        otherwise=f"all {len({node for node, _ in stated}):,} nodes that started ran the program of the run",
    )


def _of(node: str, program: str) -> str:
    return f"{node} ran another program (digest {program})" if program else f"{node} did not state its program"
