"""The results of conformance cases as continuous integration shows them."""

from __future__ import annotations

from collections.abc import Sequence

from studies.conformance.display import RELATION, explanation
from studies.conformance.result import CaseVerdict, Result
from studies.junit import JunitCase, JunitOutcome, JunitSuite

_KINDS = {
    CaseVerdict.PASSED: JunitOutcome.PASSED,
    CaseVerdict.FAILED: JunitOutcome.FAILED,
    CaseVerdict.SKIPPED: JunitOutcome.SKIPPED,
}


def suites_of(results: Sequence[Result]) -> list[JunitSuite]:
    """One suite for each runtime, one class for each protocol."""
    runtimes = dict.fromkeys(result.runtime for result in results)
    return [
        JunitSuite(runtime or RELATION, [_case(result) for result in results if result.runtime == runtime])
        for runtime in runtimes
    ]


def _case(result: Result) -> JunitCase:
    failed = result.verdict is CaseVerdict.FAILED
    return JunitCase(
        name=result.case,
        class_name=result.protocol or RELATION,
        kind=_KINDS[result.verdict],
        message="not as expected" if failed else result.note,
        text="\n".join(explanation(result)) if failed else "",
        seconds=result.seconds,
    )
