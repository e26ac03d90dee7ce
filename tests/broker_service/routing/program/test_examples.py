"""The example routers in other languages pass conformance cases, where their languages are installed."""

from __future__ import annotations

import shutil

import pytest

from broker_service.routing.program.references import reference_to
from studies.conformance import Case, CaseVerdict, SimulatedCaseRunner, read, run_case
from studies.conformance.protocols import ConformanceProtocol
from tests.documentation.markdown import ROOT

EXAMPLES = ROOT / "examples" / "routers"
MOST_LINES = 150


@pytest.mark.skipif(shutil.which("node") is None, reason="Node is not installed")
@pytest.mark.parametrize("program", ["flooding.js", "reverse_paths.js"])
@pytest.mark.parametrize(
    ("file", "id"),
    [
        ("lines", "line-publisher-in-the-middle"),
        ("cycles", "ring-of-3-all-subscribe"),
        ("single-broker", "two-clients-use-one-id"),
    ],
)
def test_a_program_passes_a_case(program: str, file: str, id: str) -> None:
    cases = [case for case in read(ROOT / "tests" / "conformance" / f"{file}.json") if isinstance(case, Case)]
    case = next((case for case in cases if case.id == id), cases[0])
    protocol = ConformanceProtocol(program, reference_to([str(EXAMPLES / program)]))
    result = run_case(case, protocol, SimulatedCaseRunner())
    assert (result.verdict, result.problem, result.differences) == (CaseVerdict.PASSED, "", ())


@pytest.mark.parametrize("file", sorted(EXAMPLES.iterdir()), ids=lambda file: file.name)
def test_an_example_is_short(file: object) -> None:
    assert len(file.read_text().splitlines()) < MOST_LINES  # type: ignore[attr-defined]
