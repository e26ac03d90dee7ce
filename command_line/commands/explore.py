"""`brokerlab explore`: runs around a scenario that nobody has thought of, and what they show."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from rich.console import Console

from analysis.tables.summary import BROKER_DEFECT
from command_line.commands.answers import IN_WORDS, Answer
from command_line.commands.progress import shown_progress
from emulation.planning.plan import make_run_id
from emulation.run.interrupt import Interrupt, Interrupted, QuickStop
from emulation.runtimes.ladder import Rungs, Simulated, choose
from record.errors import BadInputError, unusable_directory
from record.exit_codes import ExitCode
from scenario.loading import load
from scenario.model import AUTO
from scenario.shipped import file_of
from studies.exploration.confirmation import confirm
from studies.exploration.directory import repeat_lines, write_finding
from studies.exploration.drawing import Drawing
from studies.exploration.exploration import Account, Budget, Exploration
from studies.exploration.findings import Finding
from studies.exploration.judged_run import judging_room
from studies.exploration.junit import suite_of
from studies.exploration.real_runs import RealRuns
from studies.exploration.report import build_page
from studies.exploration.saved import FILE, Subject, save_account, saved_account
from studies.exploration.sentences import account_lines, behaviours_in_words, findings_in_words, rarest, runs_in_words
from studies.exploration.surroundings import Surroundings
from studies.exploration.workers import Explorer, workers
from studies.junit import require_writable, write_junit

_RAREST = 5
"""Kinds of behaviour that are named at the end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplorationRequest:
    """The user's request."""

    file: Path
    budget: Budget
    seed: int
    protocol: str | None = None
    workers: int
    out: Path | None
    confirm: str | None = None
    """The runtime on which findings are tried; None to try them nowhere."""
    junit: Path | None = None


def explore_around(request: ExplorationRequest, answer: Answer = IN_WORDS) -> ExitCode:
    """Explores around a scenario and answers with what is found. Raises `UserError`s."""
    require_writable(request.junit)
    console = answer.console
    rungs = None if request.confirm is None else _rungs(request.confirm, console)
    scenario = load(file_of(request.file, "scenario"))
    surroundings = Surroundings.of(scenario, request.protocol)
    directory = _directory(request, scenario.name)
    subject = Subject.of(scenario.name, surroundings, request.seed)
    account = saved_account(directory, subject)
    exploration = Exploration(Explorer(Drawing(surroundings), request.seed), request.budget, account)

    if account.runs:
        before = f"{runs_in_words(account.runs)} with {findings_in_words(len(account.findings))}"
        console.print(f"going on after {before}", markup=False)

    def announce(finding: Finding) -> None:
        write_finding(finding, directory)
        for line in finding_lines(finding, directory):
            console.print(line, markup=False, soft_wrap=True)

    exploration.on_finding = announce
    interrupted = False
    with workers(request.workers, exploration.explorer) as at, Interrupt() as interrupt:
        exploration.asked_to_end = lambda: interrupt.asked
        try:
            with shown_progress(console, f"exploring around {request.file}") as show:
                exploration.on_look = lambda account: show(progress_line(account))
                exploration.explore(at)
        except QuickStop:
            interrupted = True
        interrupted |= interrupt.asked
        save_account(account, subject, directory)
    if rungs is not None and not interrupted:
        interrupted = _confirm(account, RealRuns(rungs, directory / "confirmed"), console)
        save_account(account, subject, directory)
    title = f"around {request.file.name}, {Path(surroundings.protocol).name}, seed {request.seed}"
    page = build_page(title, account, directory)
    if request.junit is not None:
        write_junit([suite_of(f"explored {title}", account, directory)], request.junit)
    for line in closing_lines(account, page):
        console.print(line, markup=False, soft_wrap=True)
    answer.document({"directory": directory, "exploration": msgspec.Raw((directory / FILE).read_bytes())})
    return _exit_code(account, interrupted=interrupted)


def progress_line(account: Account) -> str:
    """The state of an exploration in one line."""
    pace = account.runs / account.seconds if account.seconds else 0.0
    found = f"{behaviours_in_words(len(account.seen))}; {findings_in_words(len(account.findings))}"
    return f"{runs_in_words(account.runs)}, {pace:.1f} a second; {found}"


def finding_lines(finding: Finding, directory: Path) -> Iterator[str]:
    """A finding, when it is new."""
    yield f"{finding.name}: {finding.cause.in_words()}"
    for defect in finding.defects:
        yield f"  {defect.kind}: {defect.detail}"
    for moment in finding.moments:
        yield f"  {moment}"
    for line in repeat_lines(finding, directory):
        yield f"  {line}"


def closing_lines(account: Account, page: Path) -> Iterator[str]:
    """The account of an exploration, at its end."""
    yield from account_lines(account)
    for finding in account.findings.values():
        yield f"  {finding.name}: {'; '.join(filter(None, (finding.cause.in_words(), finding.confirmed)))}"
    for kind, number in sorted(account.kinds.items()):
        yield f"  {kind}: in {runs_in_words(number)}"
    if account.seen:
        yield "rarest behaviours:"
    for number, feature in rarest(account)[:_RAREST]:
        yield f"  {feature}: in {runs_in_words(number)}"
    yield f"page: {page}"


def _directory(request: ExplorationRequest, name: str) -> Path:
    """The directory for findings. Raises `UserError` where it cannot be made."""
    directory = request.out or Path("runs/explore") / make_run_id(name, datetime.now(UTC), str(request.seed))
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unusable_directory(directory, error) from error
    return directory


def _rungs(runtime: str, console: Console) -> Rungs:
    """The real brokers on which findings are tried. Raises `UserError` where there are none."""
    rungs = choose(runtime, AUTO, lambda line: console.print(line, markup=False, soft_wrap=True))
    if isinstance(rungs, Simulated):
        raise BadInputError(f"--confirm {runtime}: findings come from the simulator; name a runtime of real brokers")
    return rungs


def _confirm(account: Account, real: RealRuns, console: Console) -> bool:
    """Tries findings on real brokers that have not been tried before. Returns whether the user has interrupted."""
    try:
        with judging_room() as room:
            for finding in account.findings.values():
                if not finding.confirmed:
                    with shown_progress(console, f"trying {finding.name} on real brokers") as show:
                        for outcome in confirm(finding, room.judged, real.judged):
                            words = outcome.in_words()
                            show(words)
                    finding.confirmed = words
    except (Interrupted, QuickStop):
        return True
    return False


def _exit_code(account: Account, *, interrupted: bool) -> ExitCode:
    if account.findings:
        broken = all(cause.kind == BROKER_DEFECT for cause in account.findings)
        return ExitCode.BROKER_DEFECT if broken else ExitCode.VIOLATED
    return ExitCode.INTERRUPTED if interrupted else ExitCode.CORRECT
