"""Recorded outcomes: the cost of each scenario and the verdict on each claim, as data beside the claims.

Costs let a plan state its processor time before anything runs; verdicts make the table of the README. Both are renewed
from the measurements of a reproduction: `python -m studies.reproduction`. Smaller forms of scenarios have costs of
their own, and no verdicts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from statistics import fmean, median

import msgspec

from analysis.claims import Claims, ClaimVerdict, JudgedClaim
from analysis.claims.shipped import FILES
from record.errors import BadInputError
from record.files import read_file, replace_file
from studies.reproduction.plan import Experiment
from studies.reproduction.results import MeasuredCell, MeasuredExperiment

FILE = FILES[0].parent / "recorded.json"


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


class RecordedClaim(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The outcome of one claim."""

    verdict: ClaimVerdict
    seeds: int
    """Runs behind the verdict."""


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

        A verdict from fewer seeds than the recorded one does not replace it. A verdict from a smaller form of a
        scenario is not recorded.
        """
        scenarios, quick_forms = dict(self.scenarios), dict(self.quick_forms)
        for experiment, runs in found:
            if runs:
                costs = quick_forms if experiment.quick_form else scenarios
                costs[experiment.scenario] = _cost(experiment, runs)
        claims = self.claims | {
            judgement.claim.id: RecordedClaim(verdict=judgement.verdict, seeds=judgement.seeds)
            for judgement in judged
            if not judgement.from_quick_form and judgement.seeds >= self._seeds(judgement.claim.id)
        }
        return Recorded(
            machine=machine,
            scenarios=dict(sorted(scenarios.items())),
            quick_forms=dict(sorted(quick_forms.items())),
            claims=dict(sorted(claims.items())),
        )

    def _seeds(self, claim: str) -> int:
        """Runs behind the recorded verdict on a claim."""
        return self.claims[claim].seeds if claim in self.claims else 0


def _cost(experiment: Experiment, runs: Sequence[MeasuredCell]) -> RecordedScenario:
    """The mean cost of runs."""
    seconds = fmean(run.cpu_seconds for run in runs)
    return RecordedScenario(cpu_seconds=round(seconds, 1), weight=round(float(experiment.weight), 1))


def table_of_verdicts(claims: Claims, recorded: Recorded) -> list[str]:
    """The number of claims with each verdict, by paper, as the lines of a Markdown table.

    It counts the claims that are recorded, so that a claim that is new does not change it.
    """
    lines = [
        f"| system | claims | {' | '.join(ClaimVerdict)} |",
        f"|---|---|{'---|' * len(ClaimVerdict)}",
    ]
    total: Counter[ClaimVerdict] = Counter()
    for paper in claims.papers.values():
        ids = [claim.id for claim in claims.claims if claim.paper == paper.id and claim.id in recorded.claims]
        counts = Counter(recorded.claims[id].verdict for id in ids)
        total += counts
        if ids:
            lines.append(_counted(f"{paper.system} ({paper.year})", counts))
    return [*lines, _counted("all", total)]


def _counted(name: str, counts: Counter[ClaimVerdict]) -> str:
    numbers = " | ".join(str(counts[verdict]) for verdict in ClaimVerdict)
    return f"| {name} | {counts.total()} | {numbers} |"


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
