"""`brokerlab search`: the highest load that each variant of a scenario carries."""
# ruff: noqa: PLC0415

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from command_line.help import BAD_INPUT, BROKER_DEFECT, HOST, INTERRUPTED, epilog
from command_line.options.shared import JobsOption, JsonOption, ScenarioArgument, SetOption, answer, overrides
from record.exit_codes import ExitCode

app = typer.Typer()


@app.command(
    epilog=epilog(
        "brokerlab search scenarios/saturation.yaml",
        "brokerlab search scenarios/saturation.yaml --set search.seeds=1",
        codes={ExitCode.CORRECT: "searched, whatever was found"} | BAD_INPUT | HOST | BROKER_DEFECT | INTERRUPTED,
        note="The same command continues a search that was interrupted.",
    )
)
def search(
    scenario: ScenarioArgument,
    *,
    set_: SetOption = None,
    runtime: Annotated[str, typer.Option(help="Runtime of the brokers: simulated, container or process.")] = (
        "simulated"
    ),
    jobs: JobsOption = None,
    out: Annotated[
        Path | None,
        typer.Option(help="The search's directory; runs/searches/NAME by default.", show_default=False),
    ] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Remove earlier results and start again.")] = False,
    json: JsonOption = False,
) -> None:
    """Find the highest load that each variant of a scenario carries, by bisection over several seeds."""
    from command_line.commands.search import SearchRequest, run_search
    from scenario.shipped import file_of

    request = SearchRequest(
        file=file_of(scenario, "scenario"), overrides=overrides(set_), runtime=runtime, out=out, jobs=jobs, fresh=fresh
    )
    with answer(json) as form:
        raise typer.Exit(run_search(request, form))
