"""`brokerlab examples`: the list, and copies that are as good as the originals."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from command_line.commands.examples import as_json, as_table, copy_examples, list_examples
from command_line.options import examples as options
from record.errors import BadInputError
from scenario.shipped import directories
from studies.campaign.model import load_campaign


def test_scenarios_and_campaigns_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    list_examples(as_json)
    listed = json.loads(capsys.readouterr().out)
    assert {("scenario", "quickstart"), ("campaign", "smoke")} <= {(row["kind"], row["name"]) for row in listed}
    list_examples(as_table)
    printed = capsys.readouterr().out
    assert all(row["name"] in printed for row in listed)


def test_copies_refer_to_each_other_as_the_originals_do(tmp_path: Path) -> None:
    copy_examples(tmp_path)
    for file in (tmp_path / "campaigns").glob("*.yaml"):
        campaign = load_campaign(file)
        assert (file.parent / campaign.scenario).resolve().is_relative_to(tmp_path.resolve())


def test_the_copy_that_the_help_shows_can_be_made_in_a_checkout() -> None:
    (shown,) = re.findall(r"brokerlab examples --copy (\S+)", options.app.registered_commands[0].epilog or "")
    assert not any((directories()[0].parent / shown / source.name).exists() for source in directories())


def test_nothing_is_replaced_by_copies(tmp_path: Path) -> None:
    (tmp_path / "campaigns").mkdir()
    with pytest.raises(BadInputError, match="campaigns exists already"):
        copy_examples(tmp_path)
    assert not (tmp_path / "scenarios").exists()
