"""`brokerlab campaign --shrink`: the smallest fault schedule with which a failing cell still fails."""

from __future__ import annotations

from collections.abc import Sequence

import yaml
from rich.console import Console

from analysis.tables.summary import violated
from record.wording import count_of
from scenario.sections.faults import FaultItem
from studies.campaign.cell import CampaignCell
from studies.campaign.directory import CampaignDirectory
from studies.campaign.result import CampaignResult
from studies.campaign.sentences import repeat_command
from studies.campaign.shrink import NotReproducedError, shrink
from studies.cells.executors.interface import ExecutorOptions
from studies.cells.scheduler import require_results


def shrink_failures(
    console: Console, options: ExecutorOptions, directory: CampaignDirectory, cells: Sequence[CampaignCell]
) -> bool:
    """Shrinks the schedule of every cell with violated deliveries; False if the user ended it.

    Attempts are kept in `cells/<key>/shrink/`, so that none is repeated; the smallest in `cells/<key>/shrunk/`.
    """
    failed = [(cell, result) for cell in cells if (result := directory.result(cell)) and _violated(result)]
    if not failed:
        console.print("no cell's delivery was violated, so there is nothing to shrink")
    try:
        for cell, result in failed:
            _shrink(console, options, directory, cell, result)
    except KeyboardInterrupt:
        console.print("interrupted; the same command goes on with what was tried so far", soft_wrap=True)
        return False
    return True


def fault_line(fault: FaultItem) -> str:
    """A fault in one line, in the form of a scenario."""
    plain = fault.model_dump(mode="json", exclude_none=True)
    return yaml.safe_dump(plain, default_flow_style=True, sort_keys=False, width=1000).strip()


def _shrink(
    console: Console, options: ExecutorOptions, directory: CampaignDirectory, cell: CampaignCell, failed: CampaignResult
) -> None:
    scratch = CampaignDirectory(directory.cell(cell.key) / "shrink")

    def run(candidate: CampaignCell) -> CampaignResult:
        (result,) = require_results(options, scratch, [candidate], console)
        return result

    console.print(f"\n{cell.key}: looking for the faults it takes, on runtime {options.runtime}", markup=False)
    try:
        found = shrink(cell, failed, run)
    except NotReproducedError as error:
        console.print(str(error), markup=False, soft_wrap=True)
        return
    scenario = found.cell.write_scenario(directory.cell(cell.key) / "shrunk")
    console.print(
        f"{cell.key}: {', '.join(found.result.delivery)} with {len(found.faults)} of {count_of(found.before, 'fault')} "
        f"(after {count_of(found.runs, 'run')})",
        markup=False,
        soft_wrap=True,
    )
    for fault in found.faults:
        console.print(f"  - {fault_line(fault)}", markup=False, soft_wrap=True)
    console.print(f"  again: {repeat_command(scenario, found.result)}", markup=False, soft_wrap=True)


def _violated(result: CampaignResult) -> bool:
    return violated(result.delivery, result.fidelity)
