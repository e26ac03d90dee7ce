"""Rehearsals on the hosts of an inventory, and one time dilation for all cells that are compared."""

from __future__ import annotations

from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from unittest.mock import Mock

import pytest
from msgspec import UNSET
from rich.console import Console

from command_line.commands import reproduce
from emulation.ansible import Inventory
from emulation.planning.plan import Plan, make_plan
from emulation.run.interrupt import Interrupted
from record.figures import Figure
from record.manifest import ChosenDilation, HostShare
from scenario.loading import load_text
from studies import dilations
from studies.cells.attempt import CellRequest, Keep
from studies.cells.execution import run_cell
from studies.cells.executors.interface import ExecutorOptions
from studies.dilations import RehearsalCell, RehearsalResult, rehearsing_for
from studies.on_host import CELL_TYPES
from studies.rehearsal import REHEARSED, Rehearsing
from studies.reproduction import ReproductionCell
from tests.studies.reproduction.test_cell import cell_of
from tests.studies.reproduction.tiny import TINY, attempt, measured

CONSOLE = Console(file=StringIO())
ON_HOSTS = ExecutorOptions(runtime="process", retries=3, keep=Keep.ALL, inventory=Inventory({}, ("h1", "h2")))
AUTO = f"{TINY}time_dilation: auto\nfaults: [{{at: run+1s, kill: B2, for: 1s}}]\n"


def planned() -> Plan:
    return make_plan(load_text(AUTO, "tiny"))


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> tuple[list[Sequence[float | None]], list[RehearsalCell]]:
    """Contention on all hosts in each round, to be filled, and the cells that ran."""
    given: list[Sequence[float | None]] = []
    ran: list[RehearsalCell] = []

    def results(options: ExecutorOptions, _: object, cells: list[RehearsalCell], *__: object) -> list[RehearsalResult]:
        assert (options.retries, options.keep, options.inventory) == (0, Keep.NONE, ON_HOSTS.inventory)
        ran.extend(cells)
        return [
            RehearsalResult(fingerprint="", runtime="process", delivery=[], fidelity="", found=share)
            for share in (None if each is None else HostShare(figure=Figure.MEAN, share=each) for each in given.pop(0))
        ]

    monkeypatch.setattr(dilations, "require_results", results)
    return given, ran


def chosen_on_hosts() -> ChosenDilation:
    rehearsing = rehearsing_for(ON_HOSTS, CONSOLE)
    assert rehearsing is not None
    return rehearsing.choose([planned()])


def test_every_host_rehearses_and_the_one_with_most_contention_counts(
    found: tuple[list[Sequence[float | None]], list[RehearsalCell]],
) -> None:
    given, ran = found
    given += [(0.01, 0.2), (0.03, 0.04)]
    chosen = chosen_on_hosts()
    assert [each.found and each.found.share for each in chosen.rehearsals] == [0.2, 0.04] and chosen.kept
    assert len(ran) == 4 and chosen.factor == chosen.rehearsals[-1].dilation
    plan = ran[-1].plan()
    assert (plan.scenario.time_dilation, plan.scenario.faults) == (chosen.factor, ())
    assert plan.scenario.timeline.run <= REHEARSED


def test_one_host_that_cannot_tell_leaves_it_unconfirmed(
    found: tuple[list[Sequence[float | None]], list[RehearsalCell]],
) -> None:
    found[0].append((0.01, None))
    assert not chosen_on_hosts().kept


def test_ctrl_c_in_a_rehearsal_on_hosts_chooses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dilations, "require_results", Mock(side_effect=KeyboardInterrupt))
    with pytest.raises(Interrupted):
        chosen_on_hosts()


def test_a_rehearsal_runs_as_a_cell_and_finds_the_share_of_its_host(
    tmp_path: Path, found: tuple[list[Sequence[float | None]], list[RehearsalCell]]
) -> None:
    found[0].append((0.01, 0.01))
    chosen_on_hosts()
    cell = found[1][0]
    (known,) = (one for one in CELL_TYPES if one.study == cell.study)
    request = CellRequest.decode(CellRequest.simulated(cell, Keep.NONE).encode(), known)
    result = run_cell(request, tmp_path / "work", CONSOLE).result
    assert isinstance(result, RehearsalResult) and result.found is not None
    assert result.found.figure is Figure.MEAN, "the one that counts"


def test_each_scenario_of_a_reproduction_has_one_dilation_which_a_resumed_one_takes_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    factors = iter((2.0, 3.0))
    choose = Mock(side_effect=lambda _: ChosenDilation(factor=next(factors), variant="", planned=1.0, kept=True))
    monkeypatch.setattr(Rehearsing, "choose", choose)
    experiments = [
        cell_of("received twice", tmp_path / name, text.replace("tiny", name)).experiment
        for name, text in (("one", AUTO), ("two", TINY), ("three", AUTO))
    ]
    cells = [ReproductionCell.of(experiment, seed, "process") for experiment in experiments for seed in (1, 2)]
    reproduction = Mock(runs=[])
    dilated = reproduce._dilated(reproduction, ON_HOSTS, cells, CONSOLE)
    assert [cell.dilation is not UNSET and cell.dilation.factor for cell in dilated] == [2, 2, False, False, 3, 3]
    assert choose.call_count == 2

    made = measured(dilated[0], 1.0, dilation=dilated[0].dilation)
    reproduction.runs = [(cells[0].experiment, [attempt(made)])]
    (again,) = reproduce._dilated(reproduction, ON_HOSTS, cells[1:2], CONSOLE)
    assert again.dilation == dilated[0].dilation and choose.call_count == 2


def test_simulated_runs_have_none() -> None:
    options = ExecutorOptions(runtime="simulated", retries=0, keep=Keep.NONE)
    assert rehearsing_for(options, CONSOLE) is None
