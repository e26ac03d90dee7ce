"""The cells of a campaign: every combination once, each with a scenario of its own."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_service.routing import registry
from record.errors import BadInputError
from studies.campaign import cells, fingerprint, load_campaign
from studies.campaign.cell import CampaignCell
from studies.campaign.cells import key_prefix
from studies.cells.attempt import CellRequest, Keep
from tests.outside.flooding import written
from tests.studies.campaign.made_up import CAMPAIGN, SCENARIO, write_campaign
from tests.studies.cells.here import run_here


def test_every_combination_once(tmp_path: Path) -> None:
    file = write_campaign(tmp_path)
    planned = cells(load_campaign(file), file)
    assert [cell.key for cell in planned] == [
        f"{routing}+{schedule}-{seed}"
        for routing in ("fixed", "dynamic")
        for schedule in ("none", "kill")
        for seed in (1, 2)
    ]
    for cell in planned:
        scenario = json.loads(cell.scenario)
        assert scenario["routing"]["publications"] == cell.settings["routing.publications"]
        assert scenario["seed"] == cell.seed
        assert bool(scenario["faults"]) == (cell.schedule == "kill")
        assert not scenario["vary"]  # a factor takes the place of what the scenario varies


def test_without_factors_and_schedules_the_scenario_runs_as_it_is_written(tmp_path: Path) -> None:
    file = write_campaign(tmp_path, "{name: bare, scenario: little.yaml, seeds: [7]}")
    (cell,) = cells(load_campaign(file), file)
    assert cell.key == "as-written-7"
    scenario = json.loads(cell.scenario)
    assert scenario["faults"][0]["kill"] == ["B2"]
    assert [variant.name for variant in cell.plan().variants] == ["fixed", "dynamic"]


def test_variants_of_a_cell_have_the_names_that_the_scenario_gives_them(tmp_path: Path) -> None:
    file = write_campaign(tmp_path, "{name: bare, scenario: little.yaml, seeds: [7]}")
    several = "  size: {three: {topology.brokers: 3}}\n  routing.publications: [fixed, dynamic]\n"
    (tmp_path / "little.yaml").write_text(SCENARIO.replace("  routing.publications: [fixed, dynamic]\n", several))
    (cell,) = cells(load_campaign(file), file)
    assert [variant.name for variant in cell.plan().variants] == ["three+fixed", "three+dynamic"]


def test_a_cell_takes_the_code_of_its_protocol_along(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    protocol = written(tmp_path)
    file = write_campaign(tmp_path, "{name: bare, scenario: little.yaml, seeds: [7]}")
    compared = SCENARIO.replace("tid, publications: fixed", "./flooding.py").partition("vary")[0]
    (tmp_path / "little.yaml").write_text(f"{compared}vary: {{routing.protocol: [./flooding.py, tid]}}\n")
    (planned,) = cells(load_campaign(file), file)
    protocol.unlink()  # as on another host, whose process has not loaded it either
    monkeypatch.delitem(registry._from_outside, str(protocol))
    arrived = CellRequest.decode(CellRequest.simulated(planned, Keep.NONE).encode(), CampaignCell).cell
    assert arrived.fingerprint == planned.fingerprint
    assert [variant.name for variant in arrived.plan().variants] == ["flooding", "tid"]


def test_a_campaign_expects_of_every_cell(tmp_path: Path) -> None:
    file = write_campaign(tmp_path, f"{CAMPAIGN}expect: {{judged: 95%}}\n")
    for cell in cells(load_campaign(file), file):
        assert json.loads(cell.scenario)["expect"] == {"judged": "95%"}
        assert {variant.scenario.expect.judged for variant in cell.plan().variants if variant.scenario.expect} == {0.95}


def test_an_expectation_that_a_protocol_refuses_names_the_campaign(tmp_path: Path) -> None:
    file = write_campaign(tmp_path, f"{CAMPAIGN}expect: {{delivery: 95%}}\n")
    with pytest.raises(BadInputError, match=r"campaign.yaml: cell fixed\+none-1: expect.delivery.*: tid promises"):
        cells(load_campaign(file), file)
    file = write_campaign(tmp_path, f"{CAMPAIGN}expect: {{judged: 950%}}\n")
    with pytest.raises(BadInputError, match=r"campaign.yaml:10: expect.judged: a share is at most 1"):
        load_campaign(file)


def _fingerprint(directory: Path, text: str) -> str:
    file = write_campaign(directory, text)
    campaign = load_campaign(file)
    return fingerprint(campaign, cells(campaign, file))


def test_a_fingerprint_is_of_what_is_run(tmp_path: Path) -> None:
    first = _fingerprint(tmp_path, CAMPAIGN)
    assert _fingerprint(tmp_path, f"# a comment\n{CAMPAIGN}description: in other words\n") == first
    for old, new in (("1..2", "1..3"), ("run+2s", "run+3s"), ("[fixed, dynamic]", "[fixed]"), ("simulated", "process")):
        assert _fingerprint(tmp_path, CAMPAIGN.replace(old, new)) != first


def test_a_changed_scenario_is_another_campaign(tmp_path: Path) -> None:
    file = write_campaign(tmp_path)
    before = fingerprint(load_campaign(file), cells(load_campaign(file), file))
    scenario = tmp_path / "little.yaml"
    scenario.write_text(scenario.read_text().replace("rate: 4/s", "rate: 5/s"))
    assert fingerprint(load_campaign(file), cells(load_campaign(file), file)) != before


def test_a_cell_has_the_same_result_wherever_it_runs(tmp_path: Path) -> None:
    """Another directory, and by way of pickle, as on another host."""
    file = write_campaign(tmp_path)
    cell = cells(load_campaign(file), file)[2]
    first = run_here(cell, tmp_path / "a").encode()
    assert run_here(pickle.loads(pickle.dumps(cell)), tmp_path / "b" / "c").encode() == first
    assert str(tmp_path).encode() not in first


@given(values=st.lists(st.dictionaries(st.text(max_size=9), st.integers()) | st.text() | st.floats(), min_size=1))
def test_keys_are_short_names_of_files(values: list[object]) -> None:
    prefix = key_prefix({f"field.{number}": value for number, value in enumerate(values)})
    assert len(prefix) < 80
    assert all(letter.isascii() and (letter.isalnum() or letter in "_.+-") for letter in prefix)
