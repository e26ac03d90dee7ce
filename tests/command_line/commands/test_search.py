"""`brokerlab search` as its users meet it, on the simulator."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import command_line as cli
from tests.studies.campaign.made_up import DEFECTIVE

SCENARIO = """\
name: little
topology: {kind: line, brokers: 2, link: {delay: 2ms}}
routing: {protocol: tid}
workload:
  publications: {publishers: 1, rate: 2/s, placement: [B1]}
  subscriptions: {subscribers: 1, selectivity: 50%, placement: [B2]}
timeline: {join: 2s, run: 3s, drain: 1s}
search: {raise: workload.publications.rate, from: 2/s, to: 4/s, while: {p95: 200ms}, seeds: 1}
"""


@pytest.fixture
def search(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """The command in this process and a directory of its own, with its exit code, output and errors."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "little.yaml").write_text(SCENARIO)

    def called(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["brokerlab", "search", "little.yaml", *arguments])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        printed = capfd.readouterr()
        return (ended.value.code if isinstance(ended.value.code, int) else 0), printed.out, printed.err

    return called


def test_a_search_shows_what_is_carried_and_is_continued_by_the_same_command(search, tmp_path: Path) -> None:
    code, printed, told = search()
    assert code == 0, told
    assert "little: the highest workload.publications.rate that holds (links and messages only)" in printed
    assert "4/s at least" in printed
    directory = tmp_path / "runs" / "searches" / "little"
    points = json.loads((directory / "saturation.json").read_bytes())["capacities"][0]["points"]
    assert [(point["load"], point["outcome"]) for point in points] == [(2.0, "holds"), (4.0, "holds")]
    assert "little: the highest" in (directory / "report" / "index.html").read_text()
    assert "[2/2]" in told
    code, again, told = search()
    assert (code, again) == (0, printed)
    assert "[1/" not in told


def test_a_broker_that_fails_by_its_own_code_ends_the_search_with_a_sentence(search, tmp_path: Path) -> None:
    (tmp_path / "defective.py").write_text(DEFECTIVE)
    code, _, told = search("--set", "routing.protocol=./defective.py")
    assert code == 5
    assert "brokerlab: base-2-0: broker defect: B" in told
    assert "defective.py:4, in __init__)" in told
    assert "Traceback" not in told


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--runtime", "cloud"], "--runtime cloud: choose "),
        (["--runtime", "process", "--set", "time_dilation=auto"], "`auto` would give each load another factor"),
        (["--set", "search=null"], "has no `search`"),
    ],
)
def test_mistakes(search, arguments: list[str], message: str) -> None:
    code, _, said = search(*arguments)
    assert code == 2
    assert message in said
