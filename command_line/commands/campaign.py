"""`brokerlab campaign`: runs a campaign's file and shows its matrix."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

from msgspec import UNSET, UnsetType
from rich.console import Console
from rich.text import Text

from analysis.tables.limits import LimitOutcome
from analysis.tables.summary import BROKER_DEFECT, violated
from command_line.commands.answers import Answer
from command_line.commands.campaign_shrink import shrink_failures
from command_line.commands.live import LivePage, live_page
from emulation.ansible import Inventory, read_inventory
from emulation.run.interrupt import Interrupted
from emulation.runtimes.ladder import AUTO, RUNTIMES, SIMULATED
from record.errors import BadInputError
from record.exit_codes import ExitCode
from record.fidelity import FidelityVerdict
from record.manifest import ChosenDilation
from record.wording import count_of
from scenario.model import AUTO as TIME_DILATION_AUTO
from scenario.sections.section import suggestion
from studies.campaign import Campaign, CampaignCell, cells, load_campaign
from studies.campaign.directory import CampaignDirectory
from studies.campaign.junit import suites_of
from studies.campaign.matrix import CampaignSummary, write_summary
from studies.campaign.report import build_report
from studies.campaign.sentences import (
    FIDELITY_STYLES,
    closing_lines,
    failing,
    limits_in_words,
    matrix_table,
    repeat_command,
)
from studies.cells.attempt import CellFailure, Keep
from studies.cells.executors.interface import ExecutorOptions
from studies.cells.failures import failed_code, failure_lines
from studies.cells.scheduler import run_cells
from studies.dilations import rehearsing_for
from studies.verdict_files import NO_FILES, VerdictFiles

_WIDTH_IN_FILES = 150
_AROUND = 15.0
"""Expected seconds for starting, stopping and analysing a variant, until some are measured."""
_FAILURES_SHOWN = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignRequest:
    """The user's request; None where the campaign's file or a default decides."""

    file: Path
    out: Path | None
    inventory: Path | None
    runtime: str | None
    retries: int | None
    jobs: int | None
    """Simulations side by side on this host; as many as CPUs by default."""
    master: str | None
    """The Spark master."""
    keep: Keep
    chosen: tuple[str, ...]
    """Cells to run; all cells where it is empty."""
    fresh: bool
    shrink: bool
    shrink_on: str | None
    """A runtime; the campaign's own by default."""
    verdict_files: VerdictFiles = NO_FILES
    """Files for the verdicts."""
    live: bool = False
    """True to serve a page that shows the matrix as it fills."""


def run_campaign(request: CampaignRequest, answer: Answer) -> ExitCode:
    """Runs what is not done yet, and answers with the matrix. Raises `UserError`s."""
    console = Console(stderr=True, highlight=False)
    request.verdict_files.require_writable()
    campaign, planned = plan_campaign(request)
    chosen = _chosen(planned, request.chosen, request.file)
    options = _executor_options(request, campaign)
    directory = CampaignDirectory(request.out or Path("runs") / "campaigns" / campaign.name)
    with directory.held():
        if request.fresh:
            directory.start_afresh()
        directory.open(campaign, planned, request.file)
        try:
            chosen = _dilated(chosen, dilation_of_all(console, options, directory, planned))
        except Interrupted:
            console.print("interrupted while a rehearsal chose the time dilation; no cell was run")
            return ExitCode.INTERRUPTED
        with live_page(LivePage.CAMPAIGN, directory.path, console) if request.live else nullcontext():
            whole = _run_unfinished(console, options, directory, campaign.name, chosen)
        failed = directory.failures(chosen)
        summary = directory.summary()
        write_summary(summary, directory.path)
        page = build_report(summary, directory.path)
        _show(_wide(answer.console), summary, directory, page)
        answer.document({"directory": directory.path, "summary": summary})
        counted = {cell.key: attempt for cell in chosen if (attempt := directory.counted(cell)) is not None}
        request.verdict_files.write(suites_of(campaign.name, chosen, counted, failed, page))
        for line in failure_lines(failed):
            console.print(line, markup=False, soft_wrap=True)
        if not whole:
            console.print(
                "interrupted; finished cells are kept: the same command continues with the rest", soft_wrap=True
            )
        elif request.shrink:
            runtime = request.shrink_on or options.runtime
            alone = replace(options, runtime=runtime, keep=Keep.NONE, master=None, jobs=None)
            whole = shrink_failures(console, alone, directory, chosen)
    code = exit_code(summary, failed)
    return ExitCode.INTERRUPTED if not whole and code is ExitCode.CORRECT else code


def list_cells(request: CampaignRequest, answer: Answer) -> ExitCode:
    """Shows the cells of a campaign. Raises `UserError`s."""
    _, planned = plan_campaign(request)
    for cell in planned:
        answer.console.print(cell.key, markup=False, soft_wrap=True)
    answer.document([cell.key for cell in planned])
    return ExitCode.CORRECT


def plan_campaign(request: CampaignRequest) -> tuple[Campaign, tuple[CampaignCell, ...]]:
    """The campaign with the options of the command line, and its cells."""
    if request.shrink_on is not None and not request.shrink:
        raise BadInputError(f"--shrink-on {request.shrink_on}: is for --shrink; add it, or leave this out")
    campaign = load_campaign(request.file)
    for option, name in (("--runtime", request.runtime), ("--shrink-on", request.shrink_on)):
        if name not in (None, AUTO, *RUNTIMES):
            raise BadInputError(f"{option} {name}: choose {', '.join((AUTO, *RUNTIMES))}")
    changed = {"runtime": request.runtime, "retries": request.retries}
    campaign = campaign.model_copy(update={name: value for name, value in changed.items() if value is not None})
    return campaign, cells(campaign, request.file)


def keep_named(name: str) -> Keep:
    """The value of `--keep-runs`. Raises `BadInputError` for an unknown one."""
    try:
        return Keep(name)
    except ValueError:
        raise BadInputError(f"--keep-runs {name}: choose {', '.join(Keep)}") from None


def exit_code(summary: CampaignSummary, failed: Mapping[str, CellFailure]) -> ExitCode:
    """The exit code: a broker's defect in any cell comes first, next a violated delivery or a missed limit, then cells
    that could not be run."""
    results = [line.result for line in summary.cells]
    if any(BROKER_DEFECT in result.delivery for result in results):
        return ExitCode.BROKER_DEFECT
    if any(violated(result.delivery, result.fidelity) or result.has_limit(LimitOutcome.MISSED) for result in results):
        return ExitCode.VIOLATED
    if failed:
        return failed_code(failed)
    unjudged = any(result.has_limit(LimitOutcome.NOT_JUDGED) for result in results)
    return ExitCode.INVALID if unjudged or summary.fidelity == FidelityVerdict.INVALID else ExitCode.CORRECT


def _chosen(planned: Sequence[CampaignCell], keys: Sequence[str], file: Path) -> list[CampaignCell]:
    known = {cell.key for cell in planned}
    for key in keys:
        if key not in known:
            nearest = suggestion(key, known)
            remedy = nearest if "mean" in nearest else "; --list shows them all"
            raise BadInputError(f"{file}: has no cell {key!r}{remedy}")
    return [cell for cell in planned if not keys or cell.key in keys]


def _executor_options(request: CampaignRequest, campaign: Campaign) -> ExecutorOptions:
    return ExecutorOptions(
        inventory=None if request.inventory is None else _inventory(request.inventory),
        runtime=campaign.runtime,
        retries=campaign.retries,
        keep=request.keep,
        jobs=request.jobs,
        master=request.master,
    )


def _inventory(file: Path) -> Inventory:
    with tempfile.TemporaryDirectory(prefix="inventory-") as private:
        return read_inventory(file, Path(private) / "ansible")


def _run_unfinished(
    console: Console, options: ExecutorOptions, directory: CampaignDirectory, name: str, chosen: Sequence[CampaignCell]
) -> bool:
    """Runs the cells that are not finished; False if the user ended it."""
    done = len(chosen) - len(directory.unfinished(chosen))
    before = f", {done} of them done before" if done else ""
    for what, text in (
        ("campaign", f"{name}: {count_of(len(chosen), 'cell')}{before}"),
        ("runtime", f"{options.runtime} on {options.location}"),
        ("results", str(directory.path)),
    ):
        console.print(f"{what:<9} {text}", markup=False, soft_wrap=True)
    return run_cells(options, directory, chosen, console, _pace(options, chosen))


def dilation_of_all(
    console: Console, options: ExecutorOptions, directory: CampaignDirectory, planned: Sequence[CampaignCell]
) -> ChosenDilation | UnsetType:
    """The time dilation of all cells, chosen once where they leave it to rehearsals; not set otherwise.

    A cell of each combination of factors is predicted, because seeds and faults change its load little.
    """
    if directory.dilation is not UNSET:
        return directory.dilation
    typical = [cell.plan() for cell in {cell.factors: cell for cell in reversed(planned)}.values()]
    if not any(plan.scenario.time_dilation == TIME_DILATION_AUTO for plan in typical):
        return UNSET
    if (rehearsing := rehearsing_for(options, console)) is None:
        return UNSET
    chosen = rehearsing.choose(typical)
    directory.keep_dilation(chosen)
    return chosen


def _dilated(cells: Sequence[CampaignCell], dilation: ChosenDilation | UnsetType) -> list[CampaignCell]:
    """The cells with the dilation that was chosen for all, if one was."""
    return [cell if dilation is UNSET else replace(cell, dilation=dilation) for cell in cells]


def _pace(options: ExecutorOptions, chosen: Sequence[CampaignCell]) -> float:
    """Expected seconds of a cell, from the phases of the first one; 0 where they take no real time."""
    variants = () if options.runtime == SIMULATED else chosen[0].plan().variants
    return sum(variant.lasts + _AROUND for variant in variants)


def _wide(console: Console) -> Console:
    """A console for the matrix, which is as wide as the terminal or, in a file, as the matrix."""
    if not console.is_terminal:
        console.width = _WIDTH_IN_FILES
    return console


def _show(console: Console, summary: CampaignSummary, directory: CampaignDirectory, page: Path) -> None:
    """Prints the matrix, and what failed."""
    if summary.matrix:
        console.print(matrix_table(summary))
        console.print()
    for line in closing_lines(summary):
        console.print(line, markup=False, soft_wrap=True)
    failed = failing(summary.cells)
    for cell in failed[:_FAILURES_SHOWN]:
        result = cell.result
        heading = Text(f"\n{result.key}: ", style="bold")
        heading.append(", ".join(result.delivery), style="green" if result.correct else "red").append("; ")
        console.print(heading.append(result.fidelity, style=FIDELITY_STYLES[FidelityVerdict(result.fidelity)]))
        for line in limits_in_words(result):
            console.print(f"  {line}", markup=False, soft_wrap=True)
        command = repeat_command(directory.cell(result.key) / "scenario.yaml", result)
        console.print(f"  again: {command}", markup=False, soft_wrap=True)
    if len(failed) > _FAILURES_SHOWN:
        console.print(f"\nand {len(failed) - _FAILURES_SHOWN} more, in the report")
    console.print(f"\nsummary: {directory.path / 'summary.json'}", markup=False, soft_wrap=True)
    console.print(f"report: {page}", markup=False, soft_wrap=True)
