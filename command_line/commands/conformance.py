"""`brokerlab conformance`: runs cases, prints the table, explains what failed."""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from rich.console import Console

from command_line.commands.answers import Answer
from emulation.run.interrupt import Interrupt, Interrupted, QuickStop
from record.errors import BadInputError
from record.exit_codes import ExitCode
from scenario.shipped import file_of
from studies.conformance import CaseVerdict, Result, SimulatedCaseRunner, read_all, run_case, run_relation
from studies.conformance.case_runner import CaseRunner
from studies.conformance.display import CaseDisplay, ShowProgress, print_report
from studies.conformance.junit import suites_of
from studies.conformance.repeats import run_twice
from studies.conformance.selection import Selection, in_company, select
from studies.verdict_files import VerdictFiles

SIMULATED = "simulated"
RUNTIMES = (SIMULATED, "process", "container")
ALL = "all"


@dataclass(frozen=True, slots=True)
class ConformanceRequest:
    """The user's request."""

    files: Sequence[Path]
    runtimes: Sequence[str]
    protocols: Sequence[str]
    cases: Sequence[str]
    verdict_files: VerdictFiles
    show_progress: ShowProgress
    is_enough: Callable[[Result], bool]
    """True for a result after which no case is run."""


def at_the_end(_: Result) -> bool:
    """False: all cases are run."""
    return False


def at_a_failure(result: Result) -> bool:
    """True for the first failure."""
    return result.verdict is CaseVerdict.FAILED


def run_conformance(request: ConformanceRequest, answer: Answer) -> ExitCode:
    """Runs the requested cases, and answers with the matrix and what failed. Raises `UserError`s."""
    request.verdict_files.require_writable()
    console = answer.console
    # Cases kill brokers, so that broken sessions are expected.
    logging.getLogger("broker_service.client_library.client_session").setLevel(logging.ERROR)
    runtimes = _runtimes(request.runtimes)
    selection = select(
        read_all([file_of(file, "case file") for file in request.files]), request.cases, request.protocols
    )
    total = len(selection.relations) + len(runtimes) * (len(selection.trials) + len(selection.unknown))
    total += len(selection.first_from_outside()) if SIMULATED in runtimes else 0
    results: list[Result] = []
    interrupted = False
    with Interrupt() as interrupt:
        try:
            with (
                request.show_progress(console, total) as shown,
                closing(_results(selection, runtimes, interrupt, console, shown)) as coming,
            ):
                for result in coming:
                    results.append(result)
                    shown.done(result)
                    interrupt.check()
                    if request.is_enough(result):
                        break
        except (Interrupted, QuickStop):
            interrupted = True
        finally:
            if results:
                print_report(console, results)
            answer.document({"results": results})
    request.verdict_files.write(suites_of(results))
    if interrupted:
        console.print(f"interrupted after {len(results)} of {total}; nothing is left running")
    elif len(results) < total:
        console.print(f"ended at the first failure, after {len(results):,} of {total:,}")
    if any(result.defect for result in results):
        return ExitCode.BROKER_DEFECT
    if any(result.verdict is CaseVerdict.FAILED for result in results):
        return ExitCode.VIOLATED
    return ExitCode.INTERRUPTED if interrupted else ExitCode.CORRECT


def _runtimes(wanted: Sequence[str]) -> list[str]:
    for name in wanted:
        if name not in (*RUNTIMES, ALL):
            raise BadInputError(f"there is no runtime {name!r} for cases; choose {', '.join(RUNTIMES)} or {ALL}")
    return [name for name in RUNTIMES if name in wanted or ALL in wanted]


def _results(
    selection: Selection, runtimes: Sequence[str], interrupt: Interrupt, console: Console, shown: CaseDisplay
) -> Generator[Result]:
    shown.doing("relations")
    yield from map(run_relation, selection.relations)
    if not (selection.trials or selection.unknown):
        return
    for runtime in runtimes:
        shown.doing(f"{runtime}: getting ready")
        with _case_runner(runtime, interrupt, console) as runner:
            for trial in selection.trials if runtime == SIMULATED else in_company(selection.trials):
                shown.doing(f"{runtime}: {trial.case.id}")
                yield run_case(trial.case, trial.protocol, runner)
        if runtime == SIMULATED:
            for trial in selection.first_from_outside():
                shown.doing(f"{runtime}: {trial.case.id}, twice")
                yield run_twice(trial.case, trial.protocol)
        for unknown in selection.unknown:
            note = f"this version has no protocol {unknown.protocol}"
            yield Result(
                case=unknown.case.id, verdict=CaseVerdict.SKIPPED, protocol=unknown.protocol, runtime=runtime, note=note
            )


def _case_runner(runtime: str, interrupt: Interrupt, console: Console) -> AbstractContextManager[CaseRunner]:
    if runtime == SIMULATED:
        return nullcontext(SimulatedCaseRunner())
    from studies.conformance.host import host_case_runner  # noqa: PLC0415 - loads Docker and Mininet

    return host_case_runner(runtime, interrupt, partial(console.print, markup=False, soft_wrap=True))
