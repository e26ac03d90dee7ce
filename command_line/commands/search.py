"""`brokerlab search`: the highest load that each variant of a scenario carries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from command_line.commands.answers import Answer
from emulation.runtimes.ladder import AUTO, RUNTIMES, SIMULATED
from record.errors import BadInputError
from record.exit_codes import ExitCode
from record.files import write_json
from scenario.model import AUTO as TIME_DILATION_AUTO
from studies.cells.attempt import Keep
from studies.cells.executors.interface import ExecutorOptions
from studies.cells.scheduler import require_results
from studies.cells.store import CellStore
from studies.saturation.capacity import LINKS_ONLY, Capacity, SaturationSummary
from studies.saturation.cell import SaturationCell, SaturationResult
from studies.saturation.page import build_page
from studies.saturation.search import SaturationSearch
from studies.saturation.sentences import capacity_table, conditions_in_words, findings, title

_WIDTH_IN_FILES = 180
_SUMMARY = "saturation.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRequest:
    """The user's request."""

    file: Path
    overrides: Mapping[str, str]
    runtime: str
    out: Path | None
    jobs: int | None
    fresh: bool


def run_search(request: SearchRequest, answer: Answer) -> ExitCode:
    """Runs what is not done yet, and answers with what each variant carries. Raises `UserError`s."""
    console = Console(stderr=True, highlight=False)
    if request.runtime not in RUNTIMES or request.runtime == AUTO:
        raise BadInputError(f"--runtime {request.runtime}: choose {', '.join(RUNTIMES)}")
    search = SaturationSearch(request.file, dict(request.overrides))
    if request.runtime != SIMULATED and search.scenario.time_dilation == TIME_DILATION_AUTO:
        raise BadInputError(
            "time_dilation: `auto` would give each load another factor; write one for the whole search, such as the "
            "one that `brokerlab check` predicts for the most"
        )
    options = ExecutorOptions(runtime=request.runtime, retries=1, keep=Keep.NONE, jobs=request.jobs)
    store = CellStore(request.out or Path("runs") / "searches" / search.scenario.name, SaturationResult)
    with store.held():
        if request.fresh:
            store.start_afresh()

        def run_cells(cells: Sequence[SaturationCell]) -> list[SaturationResult]:
            return require_results(options, store, cells, console)

        try:
            capacities = search.run(run_cells)
        except KeyboardInterrupt:
            console.print("interrupted; what was run is kept: the same command continues with the rest")
            return ExitCode.INTERRUPTED
        summary = _summary(search, capacities, request.runtime)
        write_json(store.path / _SUMMARY, summary)
        page = build_page(summary, store.path)
    _show(answer.console, summary, store.path, page)
    answer.document({"directory": store.path, "summary": summary})
    return ExitCode.CORRECT


def _summary(search: SaturationSearch, capacities: Sequence[Capacity], runtime: str) -> SaturationSummary:
    asked, scenario = search.search, search.scenario
    return SaturationSummary(
        name=scenario.name,
        description=scenario.description,
        raised=asked.raised,
        unit=asked.loads.unit,
        conditions=conditions_in_words(asked.holds_while, asked.share, asked.seeds),
        seeds=[scenario.seed + number for number in range(asked.seeds)],
        share=asked.share,
        runtime=runtime,
        limited_to=LINKS_ONLY if runtime == SIMULATED else "",
        capacities=list(capacities),
    )


def _show(console: Console, summary: SaturationSummary, directory: Path, page: Path) -> None:
    if not console.is_terminal:
        console.width = _WIDTH_IN_FILES
    console.print(title(summary), style="bold", markup=False, soft_wrap=True)
    console.print(f"A load holds while {summary.conditions}.\n", markup=False, soft_wrap=True)
    console.print(capacity_table(summary))
    console.print()
    for sentence in findings(summary):
        console.print(sentence, markup=False, soft_wrap=True)
    console.print(f"\nsummary: {directory / _SUMMARY}", markup=False, soft_wrap=True)
    console.print(f"report: {page}", markup=False, soft_wrap=True)
