"""`brokerlab conformance`: what it selects, prints and leaves with."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as Xml
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from typer.testing import CliRunner

from command_line.program import app
from record.errors import BadInputError
from record.exit_codes import ExitCode
from studies.conformance import PROTOCOLS, CaseVerdict, Result
from studies.conformance.display import print_report
from studies.conformance.selection import in_company, select
from tests.outside.flooding import written
from tests.studies.conformance.cases import ADVERTISE, SUBSCRIBE, case, line, publish

STEPS = (ADVERTISE, SUBSCRIBE, publish("p1"))
RIGHT = line(*STEPS, id="right", expect={"S": ["p1"]})
WRONG = line(*STEPS, id="wrong", protocols=["tid-fixed", "telepathy"], expect={"S": ["p1", "p1"]})
RELATION = {"id": "r", "relation": "covers", "left": "[class,eq,'A']", "right": "[class,eq,'A']", "expect": True}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "cases.json"
    path.write_text(json.dumps([RIGHT, WRONG, RELATION, RELATION | {"id": "not-r", "expect": False}]))
    return path


def command(*arguments: object) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["conformance", *map(str, arguments)])
    if isinstance(result.exception, BadInputError):
        return result.exception.exit_code, str(result.exception)
    return result.exit_code, result.output


def test_cases_that_pass_leave_with_zero(file: Path) -> None:
    code, output = command(file, "--case", "right", "--case", "r")
    assert code == 0
    assert "pass  right" not in output
    assert re.search(r"^protocol +simulated$", output, re.MULTILINE)
    assert re.search(r"^tid-dynamic +1 pass *$", output, re.MULTILINE)
    assert "relations: 1 passed" in output
    assert f"simulated: {len(PROTOCOLS)} passed" in output


def test_a_case_that_fails_leaves_with_one_and_is_explained(file: Path) -> None:
    code, output = command(file, "--case", "wrong")
    assert code == 1
    assert "1 skipped: this version has no protocol telepathy" in output
    assert "  client S\n    expected  p1, p1\n    got       p1\n    missing   p1\n" in output
    assert "routing tables from B1 to B3, when p1 had been published:" in output
    assert 'B2  publication routing table: {"B3.1.1": [["B1.1.1", "B3"]]}' in output
    assert "again: --case wrong --protocol tid-fixed --runtime simulated" in output


def test_every_case_has_a_line_where_it_is_asked_for(file: Path) -> None:
    code, output = command(file, "--verbose", "--case", "right", "--case", "wrong")
    assert code == 1
    assert "pass  right  tid-fixed  simulated" in output
    assert "skip  wrong  telepathy  simulated  (this version has no protocol telepathy)" in output


def test_the_first_failure_may_be_the_last_case(file: Path) -> None:
    selected = ("--case", "wrong", "--case", "right", "--protocol", "tid-fixed")
    code, output = command(file, *selected)
    assert code == 1 and "simulated: 1 passed, 1 failed" in output
    first, last = json.loads(file.read_text())[:2]
    file.write_text(json.dumps([last, first]))
    code, output = command(file, *selected, "--fail-fast")
    assert code == 1 and "simulated: 1 failed" in output
    assert "ended at the first failure, after 1 of 2" in output


def test_a_defect_of_a_protocol_leaves_with_five_and_one_sentence(file: Path, tmp_path: Path) -> None:
    protocol = written(tmp_path, "self._seen = set()", "self._seen = sett()")
    code, output = command(file, "--case", "right", "--protocol", protocol)
    assert code == ExitCode.BROKER_DEFECT
    assert f"failed on the construction of its router: NameError: name 'sett' is not defined ({protocol}:18" in output
    assert "Traceback" not in output


def test_a_relation_that_fails_says_what_was_asked(file: Path) -> None:
    code, output = command(file, "--case", "not-r")
    assert code == 1
    assert "covers should be false and is true: [class,eq,'A']  |  [class,eq,'A']" in output


def test_results_are_written_as_junit(file: Path, tmp_path: Path) -> None:
    code, _ = command(file, "--junit", tmp_path / "out.xml")
    assert code == 1
    root = Xml.parse(tmp_path / "out.xml").getroot()
    counts = {suite.get("name"): [suite.get(number) for number in ("tests", "failures", "skipped")] for suite in root}
    assert counts == {"relation": ["2", "1", "0"], "simulated": [str(len(PROTOCOLS) + 2), "1", "1"]}
    (failure,) = root.iterfind("testsuite[@name='simulated']/testcase/failure")
    assert "missing   p1" in (failure.text or "")


@pytest.mark.parametrize(
    ("arguments", "trouble"),
    [
        (["--case", "rigth"], "there is no case 'rigth'; did you mean 'right'?"),
        (["--protocol", "tid"], "there is no protocol 'tid'"),
        (
            ["--runtime", "docker"],
            "there is no runtime 'docker' for cases; choose simulated, process",
        ),
        (["--case", "wrong", "--protocol", "tid-dynamic"], "none of these cases allows tid-dynamic"),
        (["absent.json"], "absent.json: cannot be read"),
    ],
)
def test_a_users_mistake_leaves_with_two(file: Path, arguments: list[str], trouble: str) -> None:
    code, output = command(file, *arguments)
    assert code == 2
    assert trouble in output


def test_every_case_runs_under_the_protocols_it_allows() -> None:
    anything, fixed = case(*STEPS, id="anything"), case(*STEPS, id="fixed", protocols=["tid-fixed"])
    selection = select([anything, fixed])
    assert [(trial.case.id, trial.protocol.name) for trial in selection.trials] == [
        *(("anything", name) for name in PROTOCOLS),
        ("fixed", "tid-fixed"),
    ]
    dynamic = select([anything, fixed], protocols=["tid-dynamic"])
    assert [(trial.case.id, trial.protocol.name) for trial in dynamic.trials] == [("anything", "tid-dynamic")]


def test_cases_of_one_overlay_come_together_and_those_with_faults_last() -> None:
    kill = {"op": "kill", "broker": "B2"}
    cases = [
        case(kill, id="faulty"),
        case(*STEPS, id="elsewhere", links=[["B1", "B2"], ["B1", "B3"]]),
        case(*STEPS, id="sound"),
    ]
    order = in_company(select(cases, protocols=["tid-fixed", "tid-dynamic"]).trials)
    assert [(trial.case.id, trial.protocol.name) for trial in order] == [
        ("sound", "tid-dynamic"), ("faulty", "tid-dynamic"), ("sound", "tid-fixed"), ("faulty", "tid-fixed"),
        ("elsewhere", "tid-dynamic"), ("elsewhere", "tid-fixed"),
    ]  # fmt: skip


def report(results: list[Result], **options: Any) -> str:
    console = Console(record=True, width=100, highlight=False, file=open("/dev/null", "w"), **options)  # noqa: PTH123, SIM115
    print_report(console, results)
    return console.export_text()


def test_a_matrix_has_protocols_and_runtimes() -> None:
    results = [
        Result(case="one", verdict=CaseVerdict.PASSED, protocol="tid-fixed", runtime="simulated"),
        Result(case="one", verdict=CaseVerdict.FAILED, protocol="tid-fixed", runtime="process", problem="it broke"),
        Result(case="two", verdict=CaseVerdict.SKIPPED, protocol="tid-fixed", runtime="process", note="why"),
    ]
    text = report(results)
    assert re.search(r"^protocol +simulated +process *$", text, re.MULTILINE)
    assert re.search(r"^tid-fixed +1 pass +1 FAIL, 1 skip *$", text, re.MULTILINE)
    assert "it broke" in text and "1 skipped: why" in text
    assert "process: 1 failed, 1 skipped" in text


def test_the_explanations_of_many_failures_are_bounded() -> None:
    results = [Result(case=f"c{number}", verdict=CaseVerdict.FAILED, problem="broken") for number in range(25)]
    text = report(results)
    assert text.count("broken") == 20
    assert "and 5 more failures: c20, c21, c22, c23, c24" in text
