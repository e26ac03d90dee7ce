"""One time dilation for all cells of a campaign: chosen once, kept, and passed to whoever runs a cell."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO
from pathlib import Path
from unittest.mock import Mock

import pytest
from msgspec import UNSET
from rich.console import Console

from command_line.commands.campaign import dilation_of_all
from emulation.ansible import Inventory
from emulation.planning.plan import Plan
from emulation.run import RunOutcome
from emulation.runtimes.ladder import Rungs
from emulation.simulation.run import simulate
from record import manifest
from record.errors import BadInputError
from record.manifest import ChosenDilation, RungChoice
from studies import dilations
from studies.campaign import Campaign, CampaignCell, cells, load_campaign
from studies.campaign.directory import CampaignDirectory
from studies.campaign.matrix import summarise
from studies.campaign.sentences import closing_lines
from studies.cells import execution
from studies.cells.attempt import CellRequest, Keep
from studies.cells.executors.interface import ExecutorOptions
from studies.rehearsal import Rehearsing
from tests.studies.campaign.made_up import CAMPAIGN, write_campaign

CHOSEN = ChosenDilation(factor=4.0, variant="base", planned=4.0, kept=True)
AUTO = CAMPAIGN.replace("simulated", "process") + "set: {time_dilation: auto}\n"
RUNGS = Rungs(RungChoice("process", "asked for"), RungChoice("userspace", "asked for"), None)
CONSOLE = Console(file=StringIO())


@pytest.fixture
def rehearsed(monkeypatch: pytest.MonkeyPatch) -> Mock:
    """The choice by rehearsals, which are left out."""
    choice = Mock(return_value=CHOSEN)
    monkeypatch.setattr(Rehearsing, "choose", choice)
    monkeypatch.setattr(dilations, "choose", lambda *_: RUNGS)
    return choice


def planned(tmp_path: Path, text: str = AUTO) -> tuple[Campaign, tuple[CampaignCell, ...], CampaignDirectory]:
    file = write_campaign(tmp_path, text)
    campaign = load_campaign(file)
    made, directory = cells(campaign, file), CampaignDirectory(tmp_path / "out")
    directory.path.mkdir()
    directory.open(campaign, made, file)
    return campaign, made, directory


def options(runtime: str = "process", inventory: Inventory | None = None) -> ExecutorOptions:
    return ExecutorOptions(runtime=runtime, retries=0, keep=Keep.ALL, inventory=inventory)


def test_it_is_chosen_once_of_all_factors_and_kept_for_a_resumed_campaign(tmp_path: Path, rehearsed: Mock) -> None:
    _, made, directory = planned(tmp_path)
    assert dilation_of_all(CONSOLE, options(), directory, made) == CHOSEN
    (plans,), _ = rehearsed.call_args
    assert {plan.scenario.routing.options["publications"] for plan in plans} == {"fixed", "dynamic"}
    assert len(plans) == 2, "seeds and faults change the load little"
    assert dilation_of_all(CONSOLE, options(), CampaignDirectory(directory.path), made) == CHOSEN
    assert rehearsed.call_count == 1


def test_it_is_not_chosen_for_simulated_cells_nor_where_it_is_stated(tmp_path: Path, rehearsed: Mock) -> None:
    _, made, directory = planned(tmp_path)
    assert dilation_of_all(CONSOLE, options("simulated"), directory, made) is UNSET
    (tmp_path / "other").mkdir()
    _, made, directory = planned(tmp_path / "other", AUTO.replace("auto", "2"))
    assert dilation_of_all(CONSOLE, options(), directory, made) is UNSET
    rehearsed.assert_not_called()


def test_cells_on_other_hosts_get_the_one_that_is_chosen_there(tmp_path: Path, rehearsed: Mock) -> None:
    _, made, directory = planned(tmp_path)
    there = options(inventory=Inventory({}, ("h1", "h2")))
    assert dilation_of_all(CONSOLE, there, directory, made) == CHOSEN == CampaignDirectory(directory.path).dilation


def test_every_cell_runs_with_it_and_its_manifest_states_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def emulated(plan: Plan, _rungs: Rungs, directory: Path, *_: object) -> RunOutcome:
        plan.require_dilation()
        return simulate(plan, directory)

    monkeypatch.setattr(execution, "choose", lambda *_: RUNGS)
    monkeypatch.setattr(execution, "clean", Mock())
    monkeypatch.setattr(execution, "emulate", emulated)
    _, made, _ = planned(tmp_path)
    request = CellRequest(cell=replace(made[0], dilation=CHOSEN), runtime="process", keep=Keep.ALL)
    attempt = execution.run_cell(CellRequest.decode(request.encode(), CampaignCell), tmp_path / "work", CONSOLE)
    record = manifest.read(tmp_path / "work" / str(attempt.run))
    assert record.dilation == CHOSEN and [variant.time_dilation for variant in record.variants] == [4.0]
    with pytest.raises(BadInputError, match="time_dilation"):
        execution.run_cell(CellRequest(cell=made[0], runtime="process", keep=Keep.ALL), tmp_path / "work2", CONSOLE)


def test_the_summary_states_it() -> None:
    stated = summarise("c", "", "f", 1, [], dilation=CHOSEN)
    assert any(line.startswith("time dilation 4, chosen for all variants") for line in closing_lines(stated))
    assert not any("dilation" in line for line in closing_lines(summarise("c", "", "f", 1, [])))


def test_factors_have_no_dilation_of_their_own_that_is_chosen(tmp_path: Path) -> None:
    text = CAMPAIGN.replace("factors:", "factors:\n  time_dilation: [1, auto]")
    with pytest.raises(BadInputError, match="`auto` gives all cells the same factor; write it under `set`"):
        load_campaign(write_campaign(tmp_path, text))
