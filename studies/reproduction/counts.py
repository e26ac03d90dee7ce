"""The README's table: claims that test a system, by verdict, beside those that could not have come out otherwise."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from analysis.claims import Claim, Claims, ClaimVerdict
from analysis.claims.standing import Standing
from studies.reproduction.recorded import Recorded

_COLUMNS = {
    Standing.CALIBRATED: "calibrated",
    Standing.BY_CONSTRUCTION: "by construction",
    Standing.PART: "parts of others",
}
"""Heads of the columns of claims that do not count."""


@dataclass(frozen=True, slots=True)
class Counts:
    """Numbers of claims."""

    tested: Counter[ClaimVerdict] = field(default_factory=Counter)
    smaller: int = 0
    """Tested claims whose runs are smaller than the paper's experiment."""
    untested: Counter[Standing] = field(default_factory=Counter)
    unmeasurable: int = 0
    """Claims that no scenario can measure."""

    @classmethod
    def of(cls, claims: Iterable[Claim], recorded: Recorded) -> Counts:
        tested: Counter[ClaimVerdict] = Counter()
        untested: Counter[Standing] = Counter()
        smaller = unmeasurable = 0
        for claim in claims:
            found = recorded.claims.get(claim.id)
            if claim.measured_by is None:
                unmeasurable += 1
            elif claim.standing is not Standing.TESTED:
                untested[claim.standing] += 1
            else:
                tested[ClaimVerdict.NOT_MEASURED if found is None else found.judged(claim).verdict] += 1
                smaller += found is not None and bool(found.smaller)
        return cls(tested, smaller, untested, unmeasurable)


def table_of_verdicts(claims: Claims, recorded: Recorded) -> list[str]:
    """The table's lines, in Markdown."""
    verdicts = [verdict for verdict in ClaimVerdict if verdict is not ClaimVerdict.NOT_MEASURED]
    heads = [
        "system",
        "tested claims",
        *verdicts,
        "not measured",
        "on a smaller scale",
        *_COLUMNS.values(),
        "no scenario can show it",
    ]
    lines = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    for paper in claims.papers.values():
        of_paper = [claim for claim in claims.claims if claim.paper == paper.id]
        lines.append(_line(f"{paper.system} ({paper.year})", Counts.of(of_paper, recorded)))
    return [*lines, _line("all", Counts.of(claims.claims, recorded))]


def _line(name: str, counts: Counts) -> str:
    numbers = [
        counts.tested.total(),
        *(counts.tested[verdict] for verdict in ClaimVerdict),
        counts.smaller,
        *(counts.untested[standing] for standing in _COLUMNS),
        counts.unmeasurable,
    ]
    return f"| {name} | {' | '.join(map(str, numbers))} |"
