"""Shipped scenarios and campaigns: listed, and found by their names."""

from __future__ import annotations

from pathlib import Path

import pytest

from record.errors import BadInputError
from scenario.shipped import Kind, examples, file_of

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("kind", "files"),
    [
        ("scenario", "scenarios/**/*.yaml"),
        ("campaign", "campaigns/**/*.yaml"),
        ("case file", "tests/conformance/*.json"),
    ],
)
def test_every_shipped_file_has_a_name_by_which_it_is_found(kind: Kind, files: str) -> None:
    found = list(examples(kind))
    assert {example.file for example in found} == set(ROOT.glob(files))
    for example in found:
        assert file_of(Path(example.name), kind) == example.file


@pytest.mark.parametrize("kind", ["scenario", "campaign", "case file"])
def test_every_shipped_file_says_what_it_is_about(kind: Kind) -> None:
    for example in examples(kind):
        assert len(example.subject) > 20, example.file
        assert not example.subject.endswith((".", ":")), example.file


def test_a_file_of_ones_own_comes_before_a_shipped_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("quickstart").write_text("mine")
    assert file_of(Path("quickstart"), "scenario") == Path("quickstart")
    assert file_of(Path("quickstart.yaml"), "scenario") == Path("quickstart.yaml")


def test_an_unknown_name_gets_the_nearest_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadInputError, match=r"no scenario of this name.*did you mean 'quickstart'"):
        file_of(Path("quickstrat"), "scenario")
