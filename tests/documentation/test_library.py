"""docs/library.md does what it says: its blocks run one after another, and print what stands below them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import brokerlab
from record.errors import BadInputError, HostError
from scenario.yaml_files.errors import ScenarioError

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "library.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def test_the_page_runs_from_its_top_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    printed = []
    for block in BLOCKS:
        exec(compile(block, "docs/library.md", "exec"), names)
        printed.append(capsys.readouterr().out)
    first, figures, slowest, *rest = printed
    assert first.strip() in re.findall(r"prints `(.*?)`", PAGE)
    assert [line.split()[:2] for line in figures.splitlines()] == [["fixed", "['correct']"], ["dynamic", "['correct']"]]
    assert "p99_ms" in slowest
    assert rest == ["", ""], "a function of the library printed something"
    assert names["page"].is_file()
    assert len(list(Path("runs/seeds").iterdir())) == len(names["delays"]) == 2


def test_all_names_of_the_page_are_those_of_the_library() -> None:
    used = set(re.findall(r"\bbrokerlab\.(\w+)\(", PAGE))
    assert used <= set(brokerlab.__all__)
    assert {name for name in brokerlab.__all__ if name.islower()} - used == {"protocol"}


def test_mistakes_are_raised_as_errors_of_the_user() -> None:
    with pytest.raises(BadInputError, match="did you mean 'quickstart'"):
        brokerlab.load("quickstrat")
    with pytest.raises(ScenarioError, match="timeline"):
        brokerlab.load("quickstart", {"timeline.runs": "8s"})
    assert not hasattr(brokerlab, "simulates")


def test_what_cannot_be_emulated_says_what_to_do_instead(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(HostError, match=r"install the package|need root"):
        brokerlab.emulate(brokerlab.plan(brokerlab.load("line-3")), runtime="process")
    with pytest.raises(HostError, match="`simulate` runs the plan in virtual time"):
        brokerlab.emulate(brokerlab.plan(brokerlab.load("line-3")))
