"""Recorded outcomes: the cost of each scenario and the numbers behind each verdict, as data beside the claims.

Costs let a plan state its processor time before anything runs; numbers make the tables of the README and of the pages
on papers (`studies.reproduction.pages`), and carry the digests of what they came from (`stale`). Both are renewed
from the measurements of a reproduction: `python -m studies.reproduction`. Smaller forms of scenarios have costs of
their own, and no verdicts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from statistics import fmean, median

import msgspec

from analysis.claims import Claim, ClaimKind, ClaimVerdict, JudgedClaim, JudgedPart, SeedEstimate
from analysis.claims.shipped import FILES
from analysis.claims.verdict import judge_number, verdict_of
from record.errors import BadInputError
from record.files import read_file, replace_file
from studies.reproduction.plan import Experiment
from studies.reproduction.results import MeasuredCell, MeasuredExperiment
from studies.reproduction.shipped_runs import given

FILE = FILES[0].parent / "recorded.json"
_SEVERAL = "several"
"""Stands for the digest of the code where several versions of it ran one scenario."""


class RecordedScenario(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The cost of one scenario."""

    cpu_seconds: float
    """Processor time of one seed with all variants: run, analysis and measures."""
    weight: float
    """`Experiment.weight` of the scenario that was measured."""

    def seconds(self, weight: float) -> float:
        """Processor time of a scenario of this weight.

        It grows with the weight, because overrides and later versions change a scenario.
        """
        return self.cpu_seconds * weight / self.weight


class RecordedPart(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The estimate of one part: its mean over seeds and the ends of its interval, which a single seed does not give."""

    mean: float
    low: float | None = None
    high: float | None = None


class RecordedClaim(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The outcome of one claim."""

    verdict: ClaimVerdict
    seeds: int
    """Number of runs behind the verdict."""
    parts: tuple[RecordedPart | None, ...] = ()
    """Estimates of the claim's parts; none in records of versions that kept verdicts alone."""
    checked: int = 0
    """For a property, the number of cases that were checked."""
    violations: int = 0
    size: str = ""
    """Size of the runs."""
    smaller: str = ""
    """Extents in which the runs are smaller than the paper's experiment; empty where they are in none."""
    scenario: str = ""
    """Digests of the scenarios and recipes, with a space between; empty in records of versions without it."""
    program: str = ""
    """Digests of the code that ran the scenarios, with a space between; empty in records of versions without it."""
    given: str = ""
    """Digest of the results of short runs of the scenarios by the same code (`shipped_runs`); empty where several
    versions of the code ran them, or such results were not recorded."""

    def judged(self, claim: Claim) -> JudgedClaim:
        """The judgement on these numbers by the rules of today. Without numbers the verdict is the recorded one."""
        if claim.kind is ClaimKind.PROPERTY:
            parts: tuple[JudgedPart, ...] = (
                JudgedPart(
                    name="", published=None, measured=None, verdict=self.verdict, standing=claim.standing_of("")
                ),
            )
        else:
            parts = tuple(self._part(claim, index) for index in range(len(claim.parts)))
        return JudgedClaim(
            claim=claim,
            verdict=verdict_of(claim, parts) if self.parts else self.verdict,
            parts=parts,
            seeds=self.seeds,
            checked=self.checked,
            violations=self.violations,
            size=self.size,
            smaller=self.smaller,
        )

    def _part(self, claim: Claim, index: int) -> JudgedPart:
        name, published = claim.parts[index], claim.numbers[index]
        found = self.parts[index] if self.parts else None
        measured = (
            None if found is None else SeedEstimate(mean=found.mean, low=found.low, high=found.high, seeds=self.seeds)
        )
        return JudgedPart(
            name=name,
            published=published,
            measured=measured,
            verdict=judge_number(claim.kind, published, measured),
            standing=claim.standing_of(name),
        )


class Recorded(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Outcomes of the latest reproductions."""

    machine: str
    """Machine on which the costs were measured."""
    scenarios: dict[str, RecordedScenario] = {}
    """Outcomes by the scenario's file, relative to `scenarios/`."""
    quick_forms: dict[str, RecordedScenario] = {}
    """Costs of the smaller forms of scenarios, by the scenario's file."""
    claims: dict[str, RecordedClaim] = {}
    """Outcomes by the claim's id."""

    def measured(self, experiment: Experiment) -> bool:
        """True where the cost of the scenario was measured, False where it is a guess."""
        return experiment.scenario in self._costs(experiment)

    def cpu_seconds(self, experiment: Experiment) -> float:
        """Processor time of one seed.

        Without a measured one, the guess is the median of what the scenarios in the same folder, or all, would take if
        they had its weight.
        """
        known = self._costs(experiment).get(experiment.scenario)
        if known is not None:
            return known.seconds(experiment.weight)
        folder = experiment.scenario.rpartition("/")[0]
        alike = [found for name, found in self.scenarios.items() if name.rpartition("/")[0] == folder]
        guesses = [found.seconds(experiment.weight) for found in alike or self.scenarios.values()]
        return median(guesses) if guesses else experiment.weight

    def _costs(self, experiment: Experiment) -> Mapping[str, RecordedScenario]:
        return self.quick_forms if experiment.quick_form else self.scenarios

    def renewed(
        self,
        found: Iterable[MeasuredExperiment],
        judged: Iterable[JudgedClaim],
        machine: str,
    ) -> Recorded:
        """Recorded outcomes with the costs and verdicts of a reproduction in place of earlier ones.

        The latest verdict is the recorded one, whatever the number of its seeds, because an older one is of an older
        program. A verdict from a smaller form of a scenario, or from one with fields that the user set, is not
        recorded.
        """
        found = list(found)
        scenarios, quick_forms = dict(self.scenarios), dict(self.quick_forms)
        for experiment, runs in found:
            if runs:
                costs = quick_forms if experiment.quick_form else scenarios
                costs[experiment.scenario] = _cost(experiment, runs)
        claims = self.claims | {
            judgement.claim.id: _recorded(judgement, _of_claim(judgement.claim, found))
            for judgement in judged
            if judgement.seeds and not judgement.from_quick_form and not judgement.changed
        }
        return Recorded(
            machine=machine,
            scenarios=dict(sorted(scenarios.items())),
            quick_forms=dict(sorted(quick_forms.items())),
            claims=dict(sorted(claims.items())),
        )


def _of_claim(claim: Claim, found: Iterable[MeasuredExperiment]) -> list[MeasuredExperiment]:
    """The experiments that measure a claim."""
    return [
        (experiment, runs) for experiment, runs in found if any(claim.id == other.id for other in experiment.claims)
    ]


def _recorded(judgement: JudgedClaim, found: Sequence[MeasuredExperiment]) -> RecordedClaim:
    is_property = judgement.claim.kind is ClaimKind.PROPERTY
    programs = [{run.result.program for run in runs} for _, runs in found]
    of_today = all(program == {experiment.program} for program, (experiment, _) in zip(programs, found, strict=True))
    return RecordedClaim(
        verdict=judgement.verdict,
        seeds=judgement.seeds,
        parts=() if is_property else tuple(_recorded_part(part.measured) for part in judgement.parts),
        checked=judgement.checked,
        violations=judgement.violations,
        size=judgement.size,
        smaller=judgement.smaller,
        scenario=" ".join(experiment.fingerprint for experiment, _ in found),
        program=" ".join(min(program) if len(program) == 1 else _SEVERAL for program in programs),
        given=given(experiment.scenario for experiment, _ in found) if of_today else "",
    )


def _recorded_part(measured: SeedEstimate | None) -> RecordedPart | None:
    if measured is None:
        return None
    return RecordedPart(
        mean=_rounded(measured.mean),
        low=None if measured.low is None else _rounded(measured.low),
        high=None if measured.high is None else _rounded(measured.high),
    )


def _rounded(number: float) -> float:
    """Six digits, which are more than any table shows."""
    return float(f"{number:.6g}")


def _cost(experiment: Experiment, runs: Sequence[MeasuredCell]) -> RecordedScenario:
    """The mean cost of runs."""
    seconds = fmean(run.cpu_seconds for run in runs)
    return RecordedScenario(cpu_seconds=round(seconds, 1), weight=round(float(experiment.weight), 1))


@cache
def load_recorded(file: Path = FILE) -> Recorded:
    """Raises `BadInputError`."""
    try:
        return msgspec.json.decode(read_file(file), type=Recorded)
    except (OSError, msgspec.DecodeError) as error:
        raise BadInputError(f"{file}: {error}") from error


def save_recorded(recorded: Recorded, file: Path = FILE) -> None:
    """Replaces the file in one step."""
    replace_file(file, msgspec.json.format(msgspec.json.encode(recorded), indent=1) + b"\n")
