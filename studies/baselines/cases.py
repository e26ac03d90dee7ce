"""The verdicts beside a baseline as JUnit cases."""

from __future__ import annotations

from collections.abc import Sequence

from studies.baselines.comparison import Change, FigureChange
from studies.junit import JunitCase, JunitOutcome, JunitSuite

_OUTCOMES = {Change.WORSE: JunitOutcome.FAILED, Change.NOT_JUDGED: JunitOutcome.ERROR}


def baseline_suite(scenario: str, changes: Sequence[FigureChange]) -> JunitSuite:
    """One case for each figure of each variant."""
    name = f"{scenario}: against the baseline"
    cases = [
        JunitCase(
            name=f"{change.variant}: {change.figure}",
            class_name=name,
            kind=_OUTCOMES.get(change.change, JunitOutcome.PASSED),
            message=str(change.change) if change.change in _OUTCOMES else "",
            text=change.in_words(),
        )
        for change in changes
    ]
    return JunitSuite(name, cases)
