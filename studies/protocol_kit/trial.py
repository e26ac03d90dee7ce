"""A trial of one protocol: the conformance cases that every protocol has to pass, in the simulator."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from record.installation import FILES
from studies.conformance import CaseVerdict, Result, SimulatedCaseRunner, read_all, run_case
from studies.conformance.repeats import run_twice
from studies.conformance.selection import select

CASES = FILES / "tests" / "conformance"
WITHOUT_FAULTS = ("single-broker", "lines", "trees", "cycles", "withdrawals", "strings-and-numbers")
"""Files of cases in which no broker and no link fails."""
WITH_FAULTS = ("failures", "mobility")
_TWICE_EVERY = 10
"""Cases of which one is run twice, to see whether the protocol is deterministic."""


def trial(protocol: str, names: Sequence[str]) -> Iterator[Result]:
    """Runs the cases of these files under the protocol that a file declares."""
    files = [CASES / f"{name}.json" for name in names]
    neutral = [case for case in read_all(files) if getattr(case, "protocols", None) is None]
    for number, each in enumerate(select(neutral, protocols=[protocol]).trials):
        result = run_case(each.case, each.protocol, SimulatedCaseRunner())
        yield result
        if number % _TWICE_EVERY == 0 and result.verdict is CaseVerdict.PASSED:
            yield run_twice(each.case, each.protocol)
