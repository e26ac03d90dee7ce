"""`brokerlab status`: the held runs of this host, and what goes on in each."""

from __future__ import annotations

from collections.abc import Iterable

from command_line.commands.answers import Answer
from emulation.held.held_runs import HeldRun, held_run, held_runs
from emulation.held.requests import Status
from emulation.run.progress import duration
from record.exit_codes import ExitCode
from record.wording import count_of
from scenario.sections.units import SIZE

_SITES = 12
"""Sites that are named."""


def show_status(name: str | None, answer: Answer) -> ExitCode:
    """Answers with the state of the run of this name, or of all. Raises `UserError`s."""
    found = list(held_runs()) if name is None else [held_run(name)]
    if not found:
        held_run(None)  # raises, and says what to do
    states = [(run, run.status()) for run in found]
    for run, status in states:
        for line in _lines(run, status):
            answer.console.print(line, markup=False, soft_wrap=True)
    answer.document([{"run": run.run_id, "directory": run.directory, "status": status} for run, status in states])
    return ExitCode.CORRECT


def _lines(run: HeldRun, status: Status) -> Iterable[str]:
    yield f"run      {run.run_id} (supervisor {run.supervisor})"
    yield f"files    {run.directory}"
    if not status.brokers:
        yield f"phase    {status.phase}"
        return
    left = f"ends by itself in {duration(status.left)}, or at {SIZE.format(status.log_quota)} of logs"
    yield f"phase    held for {duration(status.passed)} on the runtime {status.runtime}; {left}"
    if status.pace:
        yield f"time     {status.passed:.6f} s after clients began to join; {status.pace}"
    down = [broker.name for broker in status.brokers if not broker.runs]
    missing = f"; down: {', '.join(down)}" if down else ""
    yield f"brokers  {len(status.brokers) - len(down)} of {len(status.brokers)} run{missing}"
    refused = f", {count_of(status.rejected, 'operation')} refused" if status.rejected else ""
    yield f"clients  {status.published:,} published, {status.delivered:,} notified{refused}"
    yield f"logs     {status.log_bytes / 1e6:.1f} MB"
    yield f"by hand  {count_of(status.by_hand, 'operation')} and faults so far"
    if status.sites:
        shown = ", ".join(f"{site.name} at {site.broker}" for site in status.sites[:_SITES])
        rest = f" and {len(status.sites) - _SITES} more (--json has all)" if len(status.sites) > _SITES else ""
        yield f"sites    {shown}{rest}"
    if status.faults:
        yield f"faults   {', '.join(status.faults)}"
