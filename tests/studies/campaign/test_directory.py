"""The campaign directory: whose it is, what is done, and what stays after a kill."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from record.errors import BadInputError, HostError
from studies.campaign import Campaign, cells, load_campaign
from studies.campaign.cell import CampaignCell
from studies.campaign.directory import CampaignDirectory
from studies.campaign.result import CampaignResult
from studies.cells.attempt import CellManifest
from tests.outside.flooding import written
from tests.studies.campaign.made_up import CAMPAIGN, SCENARIO, attempt, cell, write_campaign


def opened(directory: CampaignDirectory, file: Path) -> tuple[Campaign, tuple[CampaignCell, ...]]:
    campaign = load_campaign(file)
    planned = cells(campaign, file)
    directory.open(campaign, planned, file)
    return campaign, planned


def test_changed_code_of_a_protocol_is_another_campaign(tmp_path: Path) -> None:
    protocol = written(tmp_path)
    file = write_campaign(
        tmp_path, "{name: outside, scenario: little.yaml, factors: {routing.protocol: [./flooding.py]}, seeds: [1]}"
    )
    (tmp_path / "little.yaml").write_text(
        SCENARIO.replace("tid, publications: fixed", "./flooding.py").partition("vary")[0]
    )
    directory = CampaignDirectory(tmp_path / "made")
    directory.path.mkdir()
    _, (planned,) = opened(directory, file)
    opened(directory, file)
    protocol.write_text(protocol.read_text() + "# changed\n")
    with pytest.raises(BadInputError, match=rf"the code of {protocol} changed since"):
        opened(directory, file)
    assert [packed.reference for packed in planned.protocols] == [str(protocol)]


def test_a_second_command_is_refused(tmp_path: Path) -> None:
    first, second = CampaignDirectory(tmp_path), CampaignDirectory(tmp_path)
    refused = pytest.raises(BadInputError, match=r"another command is at work here \(process \d+\)")
    with first.held(), refused, second.held():
        pytest.fail("two at once")
    with second.held():
        pass


def test_a_campaign_refused_before_its_first_cell_leaves_nothing(tmp_path: Path) -> None:
    directory = CampaignDirectory(tmp_path / "campaign")
    with pytest.raises(HostError), directory.held():
        directory.manifest_file.write_text("{}")
        raise HostError("no master answers")
    assert not directory.path.exists()


def test_a_campaign_begun_earlier_stays_when_it_is_refused(tmp_path: Path) -> None:
    directory = CampaignDirectory(tmp_path)
    directory.manifest_file.write_text("{}")
    with pytest.raises(HostError), directory.held():
        raise HostError("no master answers")
    assert directory.manifest_file.exists()


def test_a_campaign_with_a_cell_stays_when_it_is_refused(tmp_path: Path) -> None:
    directory = CampaignDirectory(tmp_path)
    with pytest.raises(HostError), directory.held():
        directory.manifest_file.write_text("{}")
        directory.cell("1").mkdir(parents=True)
        raise HostError("the master is gone")
    assert directory.manifest_file.exists()


def test_a_campaign_goes_on_where_it_was(tmp_path: Path) -> None:
    file, directory = write_campaign(tmp_path), CampaignDirectory(tmp_path / "out")
    with directory.held():
        _, planned = opened(directory, file)
        directory.record(planned[0], attempt(planned[0]), final=True)
        directory.record(planned[1], attempt(planned[1], fidelity="INVALID", busy=True), final=False)
    with directory.held():
        opened(directory, file)
        assert directory.unfinished(planned) == list(planned[1:])
        assert len(directory.attempts(planned[1])) == 1


def test_a_changed_campaign_is_refused_with_what_changed(tmp_path: Path) -> None:
    file, directory = write_campaign(tmp_path), CampaignDirectory(tmp_path / "out")
    with directory.held():
        opened(directory, file)
    for old, new, message in (
        ("1..2", "1..3", "seeds changed"),
        ("run+2s", "run+3s", "a fault schedule changed"),
        ("[fixed, dynamic]", "[fixed]", "factors changed"),
    ):
        write_campaign(tmp_path, CAMPAIGN.replace(old, new))
        with directory.held(), pytest.raises(BadInputError, match=rf"{message}.*0 of 8 cells done.*--out.*--fresh"):
            opened(directory, file)
    with directory.held():
        directory.start_afresh()
        opened(directory, file)


def test_what_is_not_a_campaigns_is_not_touched(tmp_path: Path) -> None:
    file = write_campaign(tmp_path)
    before = sorted(tmp_path.iterdir())
    refused = pytest.raises(BadInputError, match=rf"holds {file.name} and no campaign")
    with refused, CampaignDirectory(tmp_path).held():
        pytest.fail("a campaign among other things")
    assert sorted(tmp_path.iterdir()) == before


def test_a_result_of_something_else_is_none(tmp_path: Path) -> None:
    """A result that somebody damaged is none, either."""
    directory, recorded = CampaignDirectory(tmp_path), cell()
    directory.record(recorded, attempt(recorded), final=True)
    assert directory.result(recorded) is not None
    other = replace(recorded, scenario='{"seed": 9}')
    assert directory.result(other) is None
    file = directory.result_file(recorded.key)
    file.write_bytes(file.read_bytes()[:-20])
    assert directory.result(recorded) is None


@pytest.mark.parametrize("file", ["result.json", "manifest.json"])
def test_a_file_of_another_version_is_refused_with_a_way_on(tmp_path: Path, file: str) -> None:
    directory, recorded = CampaignDirectory(tmp_path), cell()
    directory.record(recorded, attempt(recorded), final=True)
    written = directory.cell(recorded.key) / file
    written.write_bytes(written.read_bytes().replace(b'"fingerprint"', b'"digest"'))
    remedy = rf"{file}: written by another version of brokerlab .*fingerprint.*: remove .*{recorded.key} to run .*--out"
    with pytest.raises(BadInputError, match=remedy):
        directory.result(recorded) if file == "result.json" else directory.attempts(recorded)


def test_every_attempt_is_in_the_cells_manifest(tmp_path: Path) -> None:
    directory, recorded = CampaignDirectory(tmp_path), cell()
    directory.record(recorded, attempt(recorded, fidelity="INVALID", busy=True), final=False)
    directory.record(recorded, attempt(recorded), final=True)
    read = (directory.cell(recorded.key) / "manifest.json").read_bytes()
    manifest = msgspec.json.decode(read, type=CellManifest[CampaignResult])
    assert [attempt.result.fidelity for attempt in manifest.attempts] == ["INVALID", "VALID"]
    result = directory.result(recorded)
    assert result is not None
    assert result.fidelity == "VALID"


def test_tidying_leaves_results_and_kept_runs(tmp_path: Path) -> None:
    directory, recorded = CampaignDirectory(tmp_path), cell()
    work = directory.new_work(recorded)
    (work / "runs" / "r1").mkdir(parents=True)
    kept = msgspec.structs.replace(attempt(recorded), run="r1")
    directory.keep_run(recorded, kept, work)
    directory.record(recorded, kept, final=True)
    directory.tidy()
    assert sorted(entry.name for entry in directory.cell(recorded.key).iterdir()) == [
        "manifest.json", "result.json", "runs", "scenario.yaml",
    ]  # fmt: skip
    assert (directory.cell(recorded.key) / "runs" / "r1").is_dir()
