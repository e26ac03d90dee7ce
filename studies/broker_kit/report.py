"""The outcome of a trial: a table of what did not pass, a summary, and the files for programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from studies.broker_kit.configuration import CONTRACT
from studies.broker_kit.rows import RowResult, RowVerdict
from studies.junit import JunitCase, JunitOutcome, JunitSuite

_KINDS = {
    RowVerdict.PASSED: JunitOutcome.PASSED,
    RowVerdict.FAILED: JunitOutcome.FAILED,
    RowVerdict.ADVISED: JunitOutcome.PASSED,
    RowVerdict.NOT_APPLICABLE: JunitOutcome.SKIPPED,
}


@dataclass(frozen=True, slots=True)
class TrialReport:
    """The outcome of a trial."""

    program: str
    """The image or the command."""
    level: int
    results: Sequence[RowResult]

    def count(self, verdict: RowVerdict) -> int:
        """Rows of that verdict."""
        return Counter(result.verdict for result in self.results)[verdict]

    def summary(self) -> str:
        """One line."""
        counts = ", ".join(f"{self.count(verdict)} {verdict}" for verdict in RowVerdict)
        return f"{self.program}, level {self.level} of contract {CONTRACT}: {counts}"

    def suites(self) -> list[JunitSuite]:
        """The rows as continuous integration shows them."""
        return [
            JunitSuite(
                suite, [_case(result) for result in results], {"program": self.program, "level": str(self.level)}
            )
            for suite, results in groupby(self.results, key=lambda result: result.row.suite)
        ]

    def content(self) -> Mapping[str, object]:
        """All rows, for programs."""
        return {
            "program": self.program,
            "contract": CONTRACT,
            "level": self.level,
            "counts": {verdict.value: self.count(verdict) for verdict in RowVerdict},
            "rows": [
                {
                    "statement": result.row.statement, "name": result.row.name, "suite": result.row.suite,
                    "demand": result.row.demand, "must": not result.row.should, "verdict": result.verdict,
                    "reason": result.reason, "seconds": round(result.seconds, 3),
                }
                for result in self.results
            ],
        }  # fmt: skip


def _case(result: RowResult) -> JunitCase:
    row = result.row
    return JunitCase(
        name=row.id,
        class_name=row.suite,
        kind=_KINDS[result.verdict],
        message=result.reason,
        text=f"{row.demand}\n{result.reason}" if result.reason else "",
        seconds=result.seconds,
    )
