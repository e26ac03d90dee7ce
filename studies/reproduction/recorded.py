"""Recorded outcomes: the cost of each scenario and the verdict on each claim, as data beside the claims.

Costs let a plan state its processor time before anything runs; verdicts make the table of the README. Both are renewed
from the measurements of a reproduction: `python -m studies.reproduction`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from statistics import fmean, median

import msgspec

from analysis.claims import Claims, ClaimVerdict, JudgedClaim
from analysis.claims.shipped import FILES
from record.errors import BadInputError
from record.files import replace_file
from studies.reproduction.plan import Experiment
from studies.reproduction.results import CellResult

FILE = FILES[0].parent / "recorded.json"


class RecordedScenario(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The cost of one scenario."""

    cpu_seconds: float
    """Processor time of one seed with all variants: run, analysis and measures."""
    weight: float
    """`Experiment.weight` of the scenario that was measured."""


class RecordedClaim(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The outcome of one claim."""

    verdict: ClaimVerdict
    seeds: int
    """Runs behind the verdict."""


class Recorded(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Outcomes of the latest reproductions."""

    machine: str
    """The machine of the costs."""
    scenarios: dict[str, RecordedScenario] = {}
    """By file, relative to `scenarios/`."""
    claims: dict[str, RecordedClaim] = {}
    """By the claim's id."""

    def measured(self, experiment: Experiment) -> bool:
        """True where the cost of the scenario was measured, False where it is a guess."""
        return experiment.scenario in self.scenarios

    def cpu_seconds(self, experiment: Experiment) -> float:
        """Processor time of one seed.

        The measured time is scaled by the weight, because overrides and later versions change a scenario. Without one,
        the guess is the median time for this weight of the scenarios in the same folder, or of all.
        """
        known = self.scenarios.get(experiment.scenario)
        if known is not None:
            return known.cpu_seconds * experiment.weight / known.weight
        folder = experiment.scenario.rpartition("/")[0]
        alike = [found for name, found in self.scenarios.items() if name.rpartition("/")[0] == folder]
        ratios = [found.cpu_seconds / found.weight for found in alike or self.scenarios.values()]
        return experiment.weight * median(ratios) if ratios else experiment.weight

    def renewed(
        self,
        found: Iterable[tuple[Experiment, Sequence[CellResult]]],
        judged: Iterable[JudgedClaim],
        machine: str,
    ) -> Recorded:
        """With the costs and verdicts of a reproduction in place of earlier ones.

        A verdict from fewer seeds than the recorded one does not replace it.
        """
        scenarios = dict(self.scenarios)
        for experiment, results in found:
            if seconds := [result.cpu_seconds for result in results]:
                scenarios[experiment.scenario] = RecordedScenario(
                    cpu_seconds=round(fmean(seconds), 1), weight=round(experiment.weight, 1)
                )
        claims = self.claims | {
            judgement.claim.id: RecordedClaim(verdict=judgement.verdict, seeds=judgement.seeds)
            for judgement in judged
            if judgement.claim.id not in self.claims or judgement.seeds >= self.claims[judgement.claim.id].seeds
        }
        return Recorded(machine=machine, scenarios=dict(sorted(scenarios.items())), claims=dict(sorted(claims.items())))


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
        return msgspec.json.decode(file.read_bytes(), type=Recorded)
    except (OSError, msgspec.DecodeError) as error:
        raise BadInputError(f"{file}: {error}") from error


def save_recorded(recorded: Recorded, file: Path = FILE) -> None:
    """Replaces the file in one step."""
    replace_file(file, msgspec.json.format(msgspec.json.encode(recorded), indent=1) + b"\n")
