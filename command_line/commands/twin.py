"""The simulated twin of a run on real brokers: made beside it, analysed with it, and both shown side by side."""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from analysis.compare import RunComparison
from analysis.compare.sentences.runs import sides_of
from analysis.compare.twin import compare_with_twin, twin_of
from analysis.engines import Engine
from analysis.pipeline import analyze
from analysis.run_files.run_directory import read_manifest
from analysis.tables.event_choice import EventTable
from analysis.tables.summary import CORRECT
from command_line.commands.compare import print_variant, widen
from command_line.commands.progress import shown_progress
from emulation.planning.calibration import Calibration
from emulation.planning.plan import Plan
from emulation.run.interrupt import Interrupt, QuickStop
from emulation.run.progress import display
from emulation.simulation.twin import simulate_twin
from record.fidelity import FidelityVerdict
from record.files import TWIN, TWIN_COMPARISON

_INTERRUPTED = "twin interrupted and removed; the results of the run itself are complete"


def make_twin(
    plan: Plan, run: Path, engine: Engine, events: EventTable, console: Console, *, calibration: Calibration
) -> bool:
    """Simulates the twin of an analysed run, whose `twin_plan` is given, by a calibration's costs on that host, and
    shows both; False when the user interrupts it. Raises `UserError`s."""
    speeds = [speed.here for speed in read_manifest(run).speeds.values()]
    costs = calibration.on_hosts(speeds)
    shared = ", with the mean costs of brokers on the run's hosts" if len(speeds) > 1 else ""
    console.print(f"\nsimulating the twin, in virtual time{shared}")
    try:
        with Interrupt() as interrupt:
            show = partial(display, console=console)
            made = simulate_twin(plan, run.parent, calibration=costs, show=show, interrupt=interrupt)
        if not made.interrupted:
            show_twin(run, engine, events, console)
            return True
    except (QuickStop, KeyboardInterrupt):
        shutil.rmtree(run / TWIN, ignore_errors=True)
        (run / TWIN_COMPARISON).unlink(missing_ok=True)
    console.print(_INTERRUPTED)
    return False


def show_twin(run: Path, engine: Engine, events: EventTable, console: Console) -> None:
    """Analyses the twin of an analysed run, if it has one, and shows both side by side. Raises `UserError`s."""
    twin = twin_of(run)
    if twin is not None:
        with shown_progress(console, "analysing the twin") as show_stage:
            analyze(twin, engine, show_stage, events)
    comparison = compare_with_twin(run)
    if comparison is not None:
        _print(console, comparison)


def _print(console: Console, comparison: RunComparison) -> None:
    twin, run = comparison.first, comparison.second
    sides = sides_of(comparison)
    widen(console)
    for variant in comparison.variants:
        console.print(f"\n[bold]{escape(variant.name)}[/bold] beside its simulated twin")
        print_variant(console, variant, ("twin", run.runtime.partition(",")[0]), sides)
    if twin.delivery != CORRECT:
        console.print(f"deliveries of the twin: {twin.delivery}; `brokerlab analyze {twin.directory}` shows examples")
    if twin.fidelity != FidelityVerdict.VALID:
        console.print(
            f"the twin is {twin.fidelity}, so nothing follows from it: `brokerlab analyze {twin.directory}` says why",
            markup=False,
            soft_wrap=True,
        )
    console.print(f"\ntwin: {twin.directory}", markup=False, soft_wrap=True)
