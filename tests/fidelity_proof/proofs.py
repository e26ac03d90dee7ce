"""Proofs about verdicts: runs whose verdict is known beforehand, and what each has to come to."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from analysis.tables.summary import VariantSummary
from record.fidelity import FidelityVerdict
from record.figures import Figure

HALF_ABOVE = 1.5
"""Ratio to the dilated run's 99th percentile from which one must not be VALID."""
_CYCLIC = "scenarios/cyclic-30.yaml"
_LOADED: Mapping[str, str] = {"routing.publications": "dynamic", "vary": "{}", "timeline.run": "20s"}

Holds = Callable[[VariantSummary, float], bool]
"""Tells whether a variant came to what was wanted, given the 99th percentile of the dilated run in milliseconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """One run, and what its variants have to come to."""

    name: str
    scenario: str
    wanted: str
    """The verdict in words."""
    holds: Holds
    settings: Mapping[str, str] = field(default_factory=dict)
    busy_programs: int = 0
    """Programs beside the run that want a processor all the time."""


def valid(variant: VariantSummary, _dilated: float) -> bool:
    """True where the variant is VALID."""
    return variant.fidelity == FidelityVerdict.VALID


def invalid(variant: VariantSummary, _dilated: float) -> bool:
    """True where the variant is INVALID."""
    return variant.fidelity == FidelityVerdict.INVALID


def doubted(variant: VariantSummary, _dilated: float) -> bool:
    """True where the variant is DEGRADED or INVALID: a fast host carries a load with care that a slow one does not."""
    return variant.fidelity in (FidelityVerdict.DEGRADED, FidelityVerdict.INVALID)


def no_wrong_tail(variant: VariantSummary, dilated: float) -> bool:
    """True unless a 99th percentile is VALID that lies half above the dilated run's."""
    measured, judged = variant.delay.p99_ms, variant.delay.of(Figure.P99)
    if measured is None or judged is None:
        return False
    return measured <= HALF_ABOVE * dilated or judged.verdict is not FidelityVerdict.VALID


def at_rate(rate: int, **settings: str) -> Mapping[str, str]:
    """The settings of the loaded overlay of 30 brokers."""
    return {**_LOADED, "workload.publications.rate": f"{rate}/s", **settings}


DILATED = Proof(
    name="80/s, dilated", scenario=_CYCLIC, settings=at_rate(80, time_dilation="2"), wanted="", holds=lambda *_: True
)
"""The run whose 99th percentile is taken for the right one."""


def _calm() -> Iterator[Proof]:
    for scenario, settings in (
        ("quickstart", {}),
        ("cyclic-30", {}),
        ("semi-30", {"motion": "null"}),
        ("composite", {}),
        ("gryphon-failure", {"faults": "[]"}),
        ("medym-56", {}),
    ):
        file = f"scenarios/{scenario}.yaml"
        yield Proof(name=f"calm {scenario}", scenario=file, settings=settings, wanted="VALID", holds=valid)


PROOFS = (
    Proof(name="10/s", scenario=_CYCLIC, settings=at_rate(10), wanted="VALID", holds=valid),
    Proof(
        name="80/s",
        scenario=_CYCLIC,
        settings=at_rate(80),
        wanted="no VALID 99% half above the dilated one",
        holds=no_wrong_tail,
    ),
    Proof(name="120/s", scenario=_CYCLIC, settings=at_rate(120), wanted="not VALID", holds=doubted),
    Proof(name="240/s, overload", scenario=_CYCLIC, settings=at_rate(240), wanted="INVALID", holds=invalid),
    Proof(
        name="smoke, beside two busy programs",
        scenario="scenarios/smoke.yaml",
        wanted="VALID",
        holds=valid,
        busy_programs=2,
    ),
    *_calm(),
)
