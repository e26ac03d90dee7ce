"""JUnit documents can be read back, and verdicts in them fail a build."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as Xml

import pytest

from analysis.engines import PlainEngine
from analysis.pipeline import analyze
from record.errors import BadInputError
from studies.junit import JunitCase, JunitOutcome, JunitSuite, require_writable, write_junit
from studies.verdict_cases import Verdicts, verdict_suite, verdicts_of
from tests.analysis.history import write_run
from tests.analysis.oracle_cases_of_best_effort import many


def read(path: Path) -> dict[tuple[str, str], tuple[str, str, str]]:
    """By suite and case: what became of it, the message, the text."""
    found = {}
    for suite in Xml.parse(path).getroot():
        for case in suite:
            outcomes = [(child.tag, child.get("message", ""), child.text or "") for child in case]
            found[suite.get("name", ""), case.get("name", "")] = outcomes[0] if outcomes else ("", "", "")
    return found


def verdicts(**fields: object) -> Verdicts:
    whole = {"variant": "base", "delivery": ["correct"], "numbers": "9 published", "fidelity": "VALID", "reasons": ()}
    return Verdicts(**(whole | fields))  # type: ignore[arg-type]


def test_a_document_says_what_became_of_each_case(tmp_path: Path) -> None:
    cases = [
        JunitCase(name="well", class_name="a", seconds=1.5),
        JunitCase(name="ill", class_name="a", kind=JunitOutcome.FAILED, message="<lost>", text="P:1 & more"),
        JunitCase(name="not done", class_name="a", kind=JunitOutcome.SKIPPED, message="no time"),
        JunitCase(name="not possible", class_name="a", kind=JunitOutcome.ERROR, message="INVALID"),
    ]
    write_junit([JunitSuite("first", cases), JunitSuite("second", cases[:1])], tmp_path / "out.xml")
    found = read(tmp_path / "out.xml")
    assert found["first", "ill"] == ("failure", "<lost>", "P:1 & more")
    assert [found["first", name][0] for name in ("well", "not done", "not possible")] == ["", "skipped", "error"]
    counts = [
        [suite.get(number) for number in ("tests", "failures", "errors", "skipped", "time")]
        for suite in Xml.parse(tmp_path / "out.xml").getroot()
    ]
    assert counts == [["4", "1", "1", "1", "1.500"], ["1", "0", "0", "0", "1.500"]]


@pytest.mark.parametrize(
    ("fields", "delivery", "fidelity"),
    [
        ({}, "system-out", "system-out"),
        ({"delivery": ["lost", "duplicated"]}, "failure", "system-out"),
        ({"delivery": ["below expectation"]}, "failure", "system-out"),
        ({"delivery": ["unjudged"]}, "failure", "system-out"),
        ({"delivery": ["unjudged"], "interrupted": True}, "system-out", "system-out"),
        ({"fidelity": "INVALID", "reasons": ["CPU: busy"]}, "system-out", "error"),
        ({"fidelity": "DEGRADED"}, "system-out", "system-out"),
        ({"fidelity": "UNKNOWN"}, "system-out", "skipped"),
    ],
)
def test_verdicts_fail_a_build_as_exit_codes_do(
    tmp_path: Path, fields: dict[str, object], delivery: str, fidelity: str
) -> None:
    write_junit([verdict_suite("smoke", [verdicts(**fields)])], tmp_path / "out.xml")
    found = read(tmp_path / "out.xml")
    assert found["smoke", "base: delivery"][0] == delivery
    assert found["smoke", "base: fidelity"][0] == fidelity


def test_a_ratio_below_expectation_fails_a_build_and_is_named(tmp_path: Path) -> None:
    summary = analyze(write_run(tmp_path / "run", [many("base", 0.6, "x-" * 20)]), PlainEngine())
    write_junit([verdict_suite("smoke", verdicts_of(summary, None))], tmp_path / "out.xml")
    outcome, message, text = read(tmp_path / "out.xml")["smoke", "base: delivery"]
    assert (outcome, message) == ("failure", "below expectation")
    assert text.startswith("delivery ratio 50.0% of 40 due notifications (95% interval 50.0% to 50.0%); 60.0% expected")


def test_a_failure_names_numbers_examples_and_reasons(tmp_path: Path) -> None:
    one = verdicts(
        delivery=["lost"], examples=["lost: P:1 to S: dropped"], fidelity="INVALID", reasons=["CPU: busy", "lag: 9 s"]
    )
    write_junit([verdict_suite("smoke", [one])], tmp_path / "out.xml")
    found = read(tmp_path / "out.xml")
    assert found["smoke", "base: delivery"] == ("failure", "lost", "9 published\nlost: P:1 to S: dropped")
    assert found["smoke", "base: fidelity"] == ("error", "INVALID", "INVALID\nCPU: busy\nlag: 9 s")


def test_a_file_that_cannot_be_written_is_told_before_the_run(tmp_path: Path) -> None:
    require_writable(None)
    require_writable(tmp_path / "out.xml")
    with pytest.raises(BadInputError, match="there is no directory"):
        require_writable(tmp_path / "nowhere" / "out.xml")
    with pytest.raises(BadInputError, match=r"is a directory; name a file, such as .*verdicts\.xml"):
        require_writable(tmp_path)
    with pytest.raises(BadInputError, match="cannot be written: Is a directory"):
        write_junit([], tmp_path)
