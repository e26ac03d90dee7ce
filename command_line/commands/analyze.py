"""`brokerlab analyze`: a run's logs analysed again, and the verdicts."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from analysis.engines import Engine
from analysis.pipeline import analyze
from analysis.run_files.run_directory import read_manifest
from analysis.run_files.stored import run_of
from analysis.run_files.stores import StoreFolder, copied_run, local_path
from analysis.tables.audited import with_audit
from analysis.tables.event_choice import EventTable
from command_line.commands.answers import IN_WORDS, Answer
from command_line.commands.progress import shown_progress
from command_line.commands.twin import show_twin
from command_line.commands.verdicts import (
    exit_code,
    print_dilation,
    print_finding,
    print_verdicts,
    suite_of,
)
from record import fidelity
from record.exit_codes import ExitCode
from record.files import FIDELITY, SUMMARY
from studies.verdict_files import VerdictFiles


def analysed(run: Path) -> Mapping[str, object]:
    """An analysed run in a document: its directory, and the content of its summary."""
    return {"run": run, "summary": msgspec.Raw((run / SUMMARY).read_bytes())}


def analyze_run(
    location: str,
    engine: Engine,
    files: VerdictFiles,
    events: EventTable = EventTable.ALL,
    answer: Answer = IN_WORDS,
) -> ExitCode:
    """`brokerlab analyze`: replaces a run's results and answers with its verdicts. The run is a directory, or on a
    store.

    Raises `UserError`s.
    """
    files.require_writable()
    if (directory := local_path(location)) is not None:
        return _analyze(run_of(location) or directory, None, engine, files, events=events, answer=answer)
    with copied_run(location) as (run, store):
        return _analyze(run, store, engine, files, events=events, answer=answer)


def _analyze(
    run: Path, store: StoreFolder | None, engine: Engine, files: VerdictFiles, *, events: EventTable, answer: Answer
) -> ExitCode:
    console = answer.console
    with shown_progress(console) as show_stage:
        summary = analyze(run, engine, show_stage, events, store)
    judged = with_audit(fidelity.read(run) if (run / FIDELITY).exists() else None, summary)
    print_verdicts(console, summary, judged)
    print_dilation(console, summary, read_manifest(run))
    print_finding(console, summary, run)
    files.write([suite_of(run, summary, judged)])
    if store is None:
        show_twin(run, engine, events, console)
    answer.document(analysed(run))
    return exit_code(summary)
