"""The check that processors were sampled on all of several hosts that shared a run.

What contention did to delays is not known where the counts of a host are missing. A host that cannot count says so in
`fidelity.json`. The file of any other was removed, or never came from the host.
"""

from __future__ import annotations

from collections.abc import Iterable

from analysis.auditing.evidence import Evidence
from analysis.auditing.finding import none_allowed, unmeasured
from record.fidelity import Check
from record.manifest import PhaseName

NAME = "hosts without processor times"
_UNIT = "hosts"


def unsampled_hosts(evidence: Evidence) -> Iterable[Check]:
    """The check on one variant; none of a run on one host."""
    if not evidence.hosts or evidence.variant.phase(PhaseName.RUN) is None:
        return
    stated = [f"{host}: {reason}" for host, reason in evidence.unsampled.items() if reason]
    silent = [host for host, reason in evidence.unsampled.items() if not reason]
    if stated and not silent:
        yield unmeasured(NAME, _UNIT, "; ".join(stated))
        return
    yield none_allowed(
        NAME,
        _UNIT,
        silent,
        meaning="their files of processor times are missing or empty, so waits for a processor there are not known",
        otherwise=f"all {len(evidence.hosts):,} hosts were sampled",
    )
