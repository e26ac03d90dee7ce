"""An eightieth of the gauntlet: what is planted is named by the verdict alone, and no honest run is blamed.

It runs as `make gauntlet` does, in a process of its own that forks, because this one holds threads and imports of
others. The whole takes up to 15 minutes.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.gauntlet.__main__ import main
from tests.gauntlet.known import KNOWN_MISSED
from tests.gauntlet.running import Verdict
from tests.gauntlet.trials import Kind, Part, Trial

ROOT = Path(__file__).parents[2]
_JUDGED = (0, 1)
_SEED = 1
"""Another seed draws another eightieth."""

_MUTANTS = "80"
"""Harmful mutants in all eighty parts together, that is, one in this part."""

pytestmark = pytest.mark.timeout(1200)


def gauntlet(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.gauntlet", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_an_eightieth_of_the_trials_come_out_right(tmp_path: Path) -> None:
    """It fails as well when a known miss was mended, which then leaves the list."""
    file = tmp_path / "outcomes.json"
    ended = gauntlet("--part", "1/80", "--seed", str(_SEED), "--mutants", _MUTANTS, "--json", str(file))
    assert ended.returncode in _JUDGED and file.exists(), ended.stdout + ended.stderr
    right = {f"{outcome['area']}/{outcome['name']}": outcome["right"] for outcome in json.loads(file.read_bytes())}
    assert {title for title, is_right in right.items() if not is_right} == KNOWN_MISSED.keys() & right.keys()


def test_nothing_is_named_where_all_is_well() -> None:
    """A verdict without blame names nothing, whatever its sentences contain."""
    well = Verdict(delivery=("correct",), fidelity="VALID", exit_code=0, sentences=("0 lost, 0 duplicate",))
    assert not well.names("lost")


def test_a_defect_is_named_by_the_sentence_about_it_alone() -> None:
    found = Verdict(delivery=("lost",), fidelity="VALID", exit_code=1, sentences=("lost: P1:1 for S1: it ended",))
    assert found.names("^lost: P1:1 for S1")
    assert not found.names("^duplicated: ")


def test_parts_hold_every_trial_once() -> None:
    trials = [Trial(Kind.HONEST, "area", str(number), unjudged, bool, "") for number in range(23)]
    taken = [trial.name for number in range(1, 6) for trial in Part(number, 5).taken(trials, seed=3)]
    assert sorted(taken, key=int) == [trial.name for trial in trials]


def test_a_task_that_fails_or_does_not_end_is_told_apart() -> None:
    """The forks are those of a process of its own, because this one may have threads."""
    program = (
        "import time\n"
        "from tests.gauntlet.forks import Forks\n"
        "tasks = [('ends', lambda: 1), ('fails', lambda: 1 // 0), ('hangs', lambda: time.sleep(60))]\n"
        "for name, ended in Forks(2, 5.0).each(tasks):\n"
        "    print(name, ended.result, ended.failure.splitlines()[-1:])\n"
    )
    ended = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert ended.stdout.splitlines() == [
        "ends 1 []",
        "fails None ['ZeroDivisionError: integer division or modulo by zero']",
        "hangs None ['not ended after 5 s']",
    ]


def unjudged() -> Verdict:
    raise AssertionError("this trial is not to be run")


def test_a_name_that_is_none_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--only", "no such trial"]) == 2
    assert "--list" in capsys.readouterr().err
