"""The example of docs/writing-a-protocol.md and the files of `brokerlab protocol new` are whole protocols."""

from __future__ import annotations

import ast
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner

from command_line.program import app
from record.errors import BadInputError
from record.exit_codes import ExitCode
from scenario.loading import load, load_text
from studies.conformance import CaseVerdict, SimulatedCaseRunner, read, run_case
from studies.conformance.selection import select
from studies.exploration.judged_run import judging_room
from studies.protocol_kit import reverse_paths
from studies.protocol_kit.skeleton import LANGUAGES, Skeleton, write_skeleton
from studies.protocol_kit.trial import WITH_FAULTS, WITHOUT_FAULTS, trial
from tests.documentation.markdown import ROOT
from tests.outside.flooding import written

EXAMPLE = Path(reverse_paths.__file__)
PAGE = ROOT / "docs" / "writing-a-protocol.md"


def test_the_page_shows_the_example() -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert blocks[0] == EXAMPLE.read_text(encoding="utf-8")


def test_the_example_is_short() -> None:
    tree = ast.parse(EXAMPLE.read_text(encoding="utf-8"))
    del tree.body[0]  # its rules
    assert len([line for line in ast.unparse(tree).splitlines() if line.strip()]) < 60


def test_the_example_passes_all_cases_those_with_faults_too() -> None:
    results = list(trial(str(EXAMPLE), (*WITHOUT_FAULTS, *WITH_FAULTS)))
    assert len(results) > 100
    assert [result.case for result in results if result.verdict is not CaseVerdict.PASSED] == []


def test_copies_that_multiply_are_named_before_any_of_them_has_gone_far(tmp_path: Path) -> None:
    source = EXAMPLE.read_text(encoding="utf-8")
    for mended in ("if message.header in self._seen:", " and hop != source"):
        assert mended in source
        source = source.replace(mended, "if False:" if mended.startswith("if") else "")
    (tmp_path / "storm.py").write_text(source, encoding="utf-8")
    results = {result.case: result for result in trial(str(tmp_path / "storm.py"), ["lines"])}
    found = results["line-of-twelve-all-subscribe"]
    assert found.verdict is CaseVerdict.FAILED
    assert "steps[13] (publish): messages multiply without end, 50,000 records of the logs" in found.problem


def test_the_skeleton_is_a_scenario_that_compares_three_protocols(tmp_path: Path) -> None:
    files = write_skeleton("my-idea", tmp_path / "my-idea").files
    assert [path.name for path in files] == ["my_idea.py", "flooding.py", "compare.yaml", "test_my_idea.py"]
    assert [variant.name for variant in load(files[2]).variants()] == ["my_idea", "flooding", "tid"]
    assert all(result.verdict is CaseVerdict.PASSED for path in files[:2] for result in trial(str(path), ["lines"]))


def built(skeleton: Skeleton) -> str:
    """Makes a program of its sources where a command is needed, and returns what the command line calls it."""
    *build, check, compare = skeleton.next_steps
    folder = skeleton.files[0].parent
    for command in build:
        subprocess.run(command, shell=True, cwd=folder, check=True)
    assert compare == "brokerlab emulate compare.yaml --runtime simulated"
    return shlex.split(check.replace("./", f"{folder}/"))[-1]


@pytest.mark.parametrize(("language", "needed"), [("node", "node"), ("go", "go"), ("java", "javac")])
def test_a_skeleton_of_a_program_passes_and_compares_three_protocols(
    tmp_path: Path, language: str, needed: str
) -> None:
    if shutil.which(needed) is None:
        pytest.skip(f"{needed} is not installed")
    skeleton = write_skeleton("my-idea", tmp_path / "my-idea", language)
    program = built(skeleton)
    variants = load(tmp_path / "my-idea" / "compare.yaml").variants()
    assert [variant.name for variant in variants] == ["my-idea", "flooding", "tid"]
    (case, *_) = select(list(read(ROOT / "tests" / "conformance" / "lines.json")), protocols=[program]).trials
    assert case.protocol.protocol == variants[0].scenario.routing.protocol
    assert run_case(case.case, case.protocol, SimulatedCaseRunner()).verdict is CaseVerdict.PASSED


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_skeleton_has_a_test_that_names_its_protocol(tmp_path: Path, language: str) -> None:
    skeleton = write_skeleton("my-idea", tmp_path / "my-idea", language)
    test = skeleton.files[-1].read_text(encoding="utf-8")
    check = next(step for step in skeleton.next_steps if "protocol check" in step)
    assert shlex.split(check)[-1].split("/")[-1] in test
    if test.startswith("#!"):
        assert all(step in test for step in skeleton.next_steps)
        assert os.access(skeleton.files[-1], os.X_OK)


def test_a_language_without_a_skeleton_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="there is no skeleton in 'cobol'; choose python, node, go or java"):
        write_skeleton("my-idea", tmp_path / "my-idea", "cobol")


@pytest.mark.parametrize("name", ["Capital", "flooding", "brokerlab", "../up", ""])
def test_names_that_files_cannot_have_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(BadInputError):
        write_skeleton(name, tmp_path / "new")


def test_a_directory_that_is_there_is_left_alone(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="is there already"):
        write_skeleton("my-idea", tmp_path)


def checked(path: Path) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["protocol", "check", str(path)])
    return result.exit_code, result.output


def test_a_defect_leaves_with_five_and_one_sentence(tmp_path: Path) -> None:
    path = written(tmp_path, "subscription)\n        return ()", "subscription)")
    code, output = checked(path)
    assert code == ExitCode.BROKER_DEFECT
    assert len(output.splitlines()) == 1
    assert "it returned None, and a list of actions is expected; is a `return` missing?" in output


def test_a_protocol_that_loses_leaves_with_one_and_says_what(tmp_path: Path) -> None:
    path = written(tmp_path, "[Deliver(clients, message), *", "[*")
    code, output = checked(path)
    assert code == ExitCode.VIOLATED
    assert "missing   p1" in output
    assert re.search(r"flooding.py: 90 failed", output)


RESTARTED = """
name: restarted
topology: {kind: explicit, links: [[B1, B2], [B2, B3], [B3, B4]]}
routing: {protocol: EXAMPLE}
workload:
  operations:
    - {at: 1s, client: C, broker: B4, subscribe: "[x,>,0]", id: s}
timeline: {join: 3s, run: 9s, drain: 1min, withdraw: 1min}
faults:
  - {at: run+1s, stop: [FAILED], for: 2s}
"""


@pytest.mark.parametrize("failed", ["B4", "B3, B4"])
def test_the_example_forgets_the_clients_of_a_broker_that_was_restarted(failed: str) -> None:
    text = RESTARTED.replace("EXAMPLE", str(EXAMPLE)).replace("FAILED", failed)
    with judging_room() as room:
        judged = room.judged(load_text(text, "restarted"))
    assert (judged.refused, judged.defects) == ("", ())
