"""Recorded outcomes that another program or another scenario has measured than those of today.

A change of code that leaves a scenario's run as it was makes no record stale. The repository keeps what each shipped
scenario, in a form of seconds, gives in the simulator (`shipped_runs`): where that is what it was when the claim was
recorded, the code may differ.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from studies.reproduction.plan import Experiment
from studies.reproduction.recorded import RecordedClaim
from studies.reproduction.shipped_runs import given


@dataclass(frozen=True, slots=True)
class Stale:
    """A recorded outcome that may not hold any more."""

    claim: str
    reason: str


def stale(recorded: Mapping[str, RecordedClaim], experiments: Iterable[Experiment]) -> Iterator[Stale]:
    """The recorded claims whose scenarios, measures or code have changed, in the order of the experiments."""
    in_each: dict[str, list[Experiment]] = {}
    for experiment in experiments:
        for claim in experiment.claims:
            in_each.setdefault(claim.id, []).append(experiment)
    for id, found in in_each.items():
        if id in recorded and (reason := _reason(recorded[id], found)):
            yield Stale(id, reason)


def _reason(recorded: RecordedClaim, found: list[Experiment]) -> str:
    """The reason why a record is stale; empty where it is not."""
    if not recorded.program:
        return "recorded by a version that kept no digest"
    if recorded.scenario != " ".join(experiment.fingerprint for experiment in found):
        return "its scenario or its measure has changed"
    if recorded.program != " ".join(experiment.program for experiment in found) and not _as_before(recorded, found):
        return "its runs have changed"
    return ""


def _as_before(recorded: RecordedClaim, found: Iterable[Experiment]) -> bool:
    """True where the scenarios' short runs give what they gave when the claim was recorded."""
    return bool(recorded.given) and recorded.given == given(experiment.scenario for experiment in found)
