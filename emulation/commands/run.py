"""`brokerlab emulate`: from a scenario's file to its verdicts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from emulation.clean import clean
from emulation.commands.exit_codes import ExitCode
from emulation.plan import make_plan
from emulation.run import emulate
from emulation.runtimes.ladder import choose
from emulation.scenario import load


@dataclass(frozen=True, slots=True)
class Request:
    """What the user asked for."""

    scenario: Path
    overrides: Mapping[str, str]
    runtime: str
    links: str
    out: Path
    report: bool


def run_scenario(request: Request) -> ExitCode:
    """Runs, analyses and judges. Raises `UserError`s."""
    console = Console(highlight=False)
    plan = make_plan(load(request.scenario, request.overrides))
    rungs = choose(request.runtime, request.links, lambda line: console.print(line, markup=False))
    cleaned = clean(None if rungs.docker is None else rungs.docker.client)
    if cleaned.runs:
        console.print(str(cleaned), markup=False)
    console.print(f"run {plan.run_id}", markup=False)
    console.print(f"runtime {rungs.runtime.name} ({rungs.runtime.reason})", markup=False)
    console.print(f"links {rungs.links.name} ({rungs.links.reason})", markup=False)
    outcome = emulate(plan, rungs, request.out, console)
    for variant in outcome.fidelity.variants:
        console.print(f"{variant.name}: fidelity: {variant.verdict}", *variant.reasons, sep="\n  ", markup=False)
    return ExitCode.CORRECT
