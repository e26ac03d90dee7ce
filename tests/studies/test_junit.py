"""JUnit documents can be read back, and verdicts in them fail a build."""

from __future__ import annotations

import os
from pathlib import Path
from xml.etree import ElementTree as Xml

import pytest
from msgspec.structs import replace

from analysis.engines import PlainEngine
from analysis.pipeline import analyze
from analysis.tables.limits import LimitOutcome, LimitVerdict
from analysis.tables.power import Power
from record import manifest
from record.errors import BadInputError
from record.limits import LimitedFigure
from studies.junit import JunitCase, JunitOutcome, JunitSuite, require_writable, write_junit
from studies.verdict_cases import Origin, Verdicts, verdict_suite, verdicts_of
from tests.analysis.history import joined, write_run
from tests.analysis.oracle_cases_of_best_effort import many
from tests.studies.campaign.made_up import cell, result

POWER = Power(owed=40, excused={"in flight to B6": 3}, not_judged={"outside of the sample": 4}, implied=7)
ORIGIN = Origin(seed=7, revision="ab12", runtime="container", report=Path("runs/x/report/index.html"))


def read(path: Path) -> dict[tuple[str, str], tuple[str, str, str]]:
    """Outcome, message and text of each case, by suite and case."""
    found = {}
    for suite in Xml.parse(path).getroot():
        for case in suite.iter("testcase"):
            outcomes = [
                (child.tag, child.get("message", ""), child.text or "") for child in case if child.tag != "properties"
            ]
            found[suite.get("name", ""), case.get("name", "")] = outcomes[0] if outcomes else ("", "", "")
    return found


def verdicts(**fields: object) -> Verdicts:
    figures = result(cell()).variants[0]
    names = fields.keys() & set(figures.__struct_fields__)
    judged = replace(figures, power=POWER, **{name: fields.pop(name) for name in names})
    return Verdicts(figures=judged, numbers="9 published", seconds=12.5, **fields)  # type: ignore[arg-type]


def properties(element: Xml.Element) -> dict[str | None, str | None]:
    return {found.get("name"): found.get("value") for found in element.findall("properties/property")}


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
        ({"delivery": ["power below expectation"]}, "failure", "system-out"),
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
    write_junit([verdict_suite("smoke", [verdicts(**fields)], ORIGIN)], tmp_path / "out.xml")
    found = read(tmp_path / "out.xml")
    assert found["smoke", "base: delivery"][0] == delivery
    assert found["smoke", "base: fidelity"][0] == fidelity


def test_a_ratio_below_expectation_fails_a_build_and_is_named(tmp_path: Path) -> None:
    summary = analyze(write_run(tmp_path / "run", [many("base", 0.6, "x-" * 20)]), PlainEngine())
    write_junit(
        [verdict_suite("smoke", verdicts_of(summary, None, manifest.read(tmp_path / "run")), ORIGIN)],
        tmp_path / "out.xml",
    )
    outcome, message, text = read(tmp_path / "out.xml")["smoke", "base: delivery"]
    assert (outcome, message) == ("failure", "below expectation")
    assert text.startswith("delivery ratio 50.0% of 40 due notifications (95% interval 50.0% to 50.0%); 60.0% expected")


@pytest.mark.parametrize(
    ("outcome", "element"),
    [(LimitOutcome.MET, "system-out"), (LimitOutcome.MISSED, "failure"), (LimitOutcome.NOT_JUDGED, "error")],
)
def test_each_limit_is_a_case(tmp_path: Path, outcome: LimitOutcome, element: str) -> None:
    limit = LimitVerdict(figure=LimitedFigure.P95, most=200.0, found=250.0, outcome=outcome, reason="too busy")
    relative = replace(limit, than="fixed", most=0.8, found=0.9)
    write_junit([verdict_suite("smoke", [verdicts(limits=[limit, relative])], ORIGIN)], tmp_path / "out.xml")
    found = read(tmp_path / "out.xml")
    message = "" if outcome is LimitOutcome.MET else limit.in_words()
    assert found["smoke", "base: limit on p95"] == (element, message, limit.in_words())
    assert found["smoke", "base: limit on p95, against fixed"][2] == relative.in_words()


def test_a_failure_names_numbers_examples_and_reasons(tmp_path: Path) -> None:
    one = verdicts(
        delivery=["lost"], examples=["lost: P:1 to S: dropped"], fidelity="INVALID", reasons=["CPU: busy", "lag: 9 s"]
    )
    write_junit([verdict_suite("smoke", [one], ORIGIN)], tmp_path / "out.xml")
    found = read(tmp_path / "out.xml")
    assert found["smoke", "base: delivery"] == (
        "failure",
        "lost",
        f"9 published\n{POWER.in_words()}\nlost: P:1 to S: dropped",
    )
    assert found["smoke", "base: fidelity"] == ("error", "INVALID", "INVALID\nCPU: busy\nlag: 9 s")


def test_a_suite_says_what_ran_and_a_case_how_much_was_judged(tmp_path: Path) -> None:
    history = joined("base").publish().notify()
    run = write_run(tmp_path / "run", [history, joined("other").publish().notify()])
    of_run = verdicts_of(analyze(run, PlainEngine()), None, manifest.read(run))
    write_junit([verdict_suite("smoke", of_run, ORIGIN)], tmp_path / "out.xml")
    (suite,) = Xml.parse(tmp_path / "out.xml").getroot()
    assert properties(suite) == {
        "seed": "7",
        "revision": "ab12",
        "runtime": "container",
        "report": "runs/x/report/index.html",
    }
    cases = {case.get("name"): case for case in suite.iter("testcase")}
    # From the start of the phase join, at 80 s, to the end of the drain, at 170 s, in both variants.
    assert {case.get("time") for case in cases.values()} == {"90.000"}
    assert suite.get("time") == "180.000"
    assert properties(cases["base: delivery"]) == {
        "owed": "1",
        "judged": "1",
        "excused": "0",
        "not judged": "0",
        "implied": "0",
        "power": "judged 100% of 1 owed notification",
    }


def test_power_is_in_the_text_and_the_properties_of_a_case(tmp_path: Path) -> None:
    one = verdicts(delivery=["power below expectation"])
    write_junit([verdict_suite("smoke", [one], ORIGIN)], tmp_path / "out.xml")
    outcome, message, text = read(tmp_path / "out.xml")["smoke", "base: delivery"]
    assert (outcome, message) == ("failure", "power below expectation")
    assert text == (
        "9 published\njudged 90% of 40 owed notifications; 4 not judged: outside of the sample; "
        "3 excused: in flight to B6; faults could cost at most 7"
    )
    case = next(Xml.parse(tmp_path / "out.xml").getroot().iter("testcase"))
    assert (properties(case)["judged"], properties(case)["not judged"], case.get("time")) == ("36", "4", "12.500")


def test_a_file_that_cannot_be_written_is_told_before_the_run(tmp_path: Path) -> None:
    require_writable(None)
    require_writable(tmp_path / "out.xml")
    with pytest.raises(BadInputError, match="there is no directory"):
        require_writable(tmp_path / "nowhere" / "out.xml")
    with pytest.raises(BadInputError, match=r"is a directory; name a file, such as .*verdicts\.xml"):
        require_writable(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(BadInputError, match="pipe: is a pipe"):
        require_writable(tmp_path / "pipe")
    with pytest.raises(BadInputError, match="cannot be written: Is a directory"):
        write_junit([], tmp_path)
