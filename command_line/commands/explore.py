"""`brokerlab explore`: runs around a scenario that nobody has thought of, and what they show."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console

from analysis.tables.summary import BROKER_DEFECT
from command_line.commands.progress import shown_progress
from emulation.planning.plan import make_run_id
from emulation.run.interrupt import Interrupt, QuickStop
from record.errors import unusable_directory
from record.exit_codes import ExitCode
from scenario.loading import load
from scenario.shipped import file_of
from studies.exploration.directory import repeat_command, write_finding
from studies.exploration.drawing import Drawing
from studies.exploration.exploration import Account, Budget, Exploration
from studies.exploration.findings import Finding
from studies.exploration.surroundings import Surroundings
from studies.exploration.workers import Explorer, workers

_RAREST = 5
"""Kinds of behaviour that are named at the end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplorationRequest:
    """The user's request."""

    file: Path
    budget: Budget
    seed: int
    protocol: str | None
    workers: int
    out: Path | None


def explore_around(request: ExplorationRequest) -> ExitCode:
    """Explores around a scenario and prints what is found. Raises `UserError`s."""
    console = Console(highlight=False)
    scenario = load(file_of(request.file, "scenario"))
    explorer = Explorer(Drawing(Surroundings.of(scenario, request.protocol)), request.seed)
    directory = _directory(request, scenario.name)
    exploration = Exploration(explorer, request.budget)

    def announce(finding: Finding) -> None:
        file = write_finding(finding, directory)
        for line in finding_lines(finding, file):
            console.print(line, markup=False, soft_wrap=True)

    exploration.on_finding = announce
    interrupted = False
    with workers(request.workers, explorer) as at, Interrupt() as interrupt:
        exploration.asked_to_end = lambda: interrupt.asked
        try:
            with shown_progress(console, f"exploring around {request.file}") as show:
                exploration.on_look = lambda account: show(progress_line(account, exploration.seconds))
                exploration.explore(at)
        except QuickStop:
            interrupted = True
        interrupted |= interrupt.asked
    for line in account_lines(exploration):
        console.print(line, markup=False, soft_wrap=True)
    return _exit_code(exploration.account, interrupted=interrupted)


def progress_line(account: Account, seconds: float) -> str:
    """The state of an exploration in one line."""
    pace = account.runs / seconds if seconds else 0.0
    found = f"{len(account.seen):,} kinds of behaviour; {_findings(len(account.findings))}"
    return f"{account.runs:,} runs, {pace:.1f} a second; {found}"


def finding_lines(finding: Finding, file: Path) -> Iterator[str]:
    """A finding, when it is new."""
    yield f"{finding.name}: {finding.cause.in_words()}"
    for defect in finding.defects:
        yield f"  {defect.kind}: {defect.detail}"
    for moment in finding.moments:
        yield f"  {moment}"
    yield f"  again: {repeat_command(file)}"


def account_lines(exploration: Exploration) -> Iterator[str]:
    """The account of an exploration, at its end."""
    account, seconds = exploration.account, exploration.seconds
    each = account.runs / account.processor if account.processor else 0.0
    yield f"{account.runs:,} runs in {seconds:.0f} s, {each:.1f} for each second of a processor"
    if account.refused:
        yield f"{account.refused:,} of them could not be run: the protocol or the simulator refused the scenario"
    yield f"{len(account.seen):,} kinds of behaviour; the rarest:"
    for number, feature in sorted((number, feature) for feature, number in account.seen.items())[:_RAREST]:
        yield f"  {feature}: in {_runs(number)}"
    yield _findings(len(account.findings))
    for finding in account.findings.values():
        yield f"  {finding.name}: {finding.cause.in_words()}"
    for kind, number in sorted(account.kinds.items()):
        yield f"  {kind}: in {_runs(number)}"


def _runs(number: int) -> str:
    return "1 run" if number == 1 else f"{number:,} runs"


def _findings(number: int) -> str:
    return "1 finding" if number == 1 else f"{number:,} findings" if number else "no findings"


def _directory(request: ExplorationRequest, name: str) -> Path:
    """The directory for findings. Raises `UserError` where it cannot be made."""
    directory = request.out or Path("runs/explore") / make_run_id(name, datetime.now(UTC), str(request.seed))
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unusable_directory(directory, error) from error
    return directory


def _exit_code(account: Account, *, interrupted: bool) -> ExitCode:
    if account.findings:
        broken = all(cause.kind == BROKER_DEFECT for cause in account.findings)
        return ExitCode.BROKER_DEFECT if broken else ExitCode.VIOLATED
    return ExitCode.INTERRUPTED if interrupted else ExitCode.CORRECT
