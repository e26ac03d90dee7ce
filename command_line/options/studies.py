"""Commands that run many scenarios: campaigns, the papers' claims, behaviour cases."""
# ruff: noqa: PLC0415

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from command_line.help import BAD_INPUT, HOST, INTERRUPTED, epilog
from command_line.options.shared import JobsOption, JunitOption, SetOption, overrides, spark_master
from record.exit_codes import ExitCode

app = typer.Typer()


@app.command(
    epilog=epilog(
        "brokerlab campaign campaigns/kill-one.yaml",
        "brokerlab campaign campaigns/kill-random.yaml --inventory hosts.ini --keep-runs all",
        "brokerlab campaign campaigns/flaky-links.yaml --runtime simulated --shrink",
        "brokerlab campaign campaigns/flaky-links.yaml --runtime simulated --master local[2]",
        "brokerlab campaign campaigns/kill-one.yaml --cell 3+edge-2 --out /tmp/one",
        codes={
            ExitCode.CORRECT: "every cell that was run delivered correctly",
            ExitCode.VIOLATED: "some did not",
            ExitCode.INVALID: "some run was INVALID, also when it was tried again",
        }
        | BAD_INPUT
        | HOST
        | INTERRUPTED,
        note="The same command goes on where an earlier one was ended.",
    )
)
def campaign(
    file: Annotated[Path, typer.Argument(help="The campaign's YAML file.")],
    *,
    out: Annotated[
        Path | None,
        typer.Option(help="The campaign's directory; runs/campaigns/NAME by default.", show_default=False),
    ] = None,
    inventory: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Ansible's inventory of hosts that share the cells; this host by default.",
            show_default=False,
        ),
    ] = None,
    runtime: Annotated[
        str | None,
        typer.Option(help="Instead of the campaign's own: auto, container, process or simulated.", show_default=False),
    ] = None,
    jobs: JobsOption = None,
    master: Annotated[
        str | None,
        typer.Option(help="Spread simulated cells over Spark: local[*] or spark://host:7077.", show_default=False),
    ] = None,
    retries: Annotated[
        int | None,
        typer.Option(min=0, max=10, help="Further tries at a cell whose host was too busy.", show_default=False),
    ] = None,
    keep_runs: Annotated[
        str, typer.Option(metavar="WHICH", help="Whose run directories stay, logs and all: none, failed or all.")
    ] = "failed",
    cell: Annotated[
        list[str] | None, typer.Option(metavar="KEY", help="Only this cell; may be repeated.", show_default=False)
    ] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Remove what an earlier run of it found, and begin again.")] = (
        False
    ),
    shrink: Annotated[
        bool, typer.Option("--shrink", help="Reduce the faults of failing cells to a smallest list that still fails.")
    ] = False,
    shrink_on: Annotated[
        str | None,
        typer.Option(
            metavar="RUNTIME", help="The runtime for --shrink; the campaign's by default.", show_default=False
        ),
    ] = None,
    list_: Annotated[bool, typer.Option("--list", help="Show the cells instead of running them.")] = False,
    junit: JunitOption = None,
) -> None:
    """Run a scenario under every combination of factors, fault schedules and seeds, and show the matrix."""
    from command_line.commands.campaign import Request, keep_named, list_cells, run_campaign

    request = Request(
        file=file,
        out=out,
        inventory=inventory,
        runtime=runtime,
        retries=retries,
        jobs=jobs,
        master=spark_master(master),
        keep=keep_named(keep_runs),
        chosen=tuple(cell or ()),
        fresh=fresh,
        shrink=shrink,
        shrink_on=shrink_on,
        junit=junit,
    )
    raise typer.Exit(list_cells(request) if list_ else run_campaign(request))


@app.command(
    epilog=epilog(
        "brokerlab reproduce tid-5a",
        "brokerlab reproduce tid --seeds 10 --json > claims.json",
        "brokerlab reproduce tid-5c --runtime container --seeds 2",
        "brokerlab reproduce tid-fail --runtime container --set time_dilation=5",
        "brokerlab reproduce --list",
        codes={
            ExitCode.CORRECT: "all was measured, whatever the verdicts on claims",
            ExitCode.VIOLATED: "a property was refuted, or a delivery violated",
        }
        | BAD_INPUT
        | HOST
        | INTERRUPTED,
    )
)
def reproduce(
    claims: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="CLAIM", help="Claims, or what their names begin with, such as tid; all of them by default."
        ),
    ] = None,
    *,
    list_: Annotated[bool, typer.Option("--list", help="Show the claims instead of running them.")] = False,
    seeds: Annotated[
        int | None,
        typer.Option(min=1, max=1000, help="Runs of each scenario; by default each claim's own.", show_default=False),
    ] = None,
    set_: SetOption = None,
    runtime: Annotated[
        str, typer.Option(help="What hosts the brokers: simulated, container or process; the last two in real time.")
    ] = "simulated",
    jobs: JobsOption = None,
    out: Annotated[Path, typer.Option(help="Where what was measured is kept.")] = Path("runs/reproduce"),
    resume: Annotated[bool, typer.Option("--resume", help="Use again what an earlier run of this measured.")] = False,
    keep_runs: Annotated[
        bool, typer.Option("--keep-runs", help="Keep all run directories: logs of some 100 MB each.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Measure what the papers claim: published, measured over several seeds, verdict."""
    from command_line.commands.reproduce import Request, list_claims, reproduce_claims, show_json, show_table

    if list_:
        raise typer.Exit(list_claims())
    request = Request(
        names=tuple(claims or ()),
        seeds=seeds,
        overrides=overrides(set_),
        runtime=runtime,
        jobs=jobs,
        out=out,
        resume=resume,
        keep_runs=keep_runs,
    )
    raise typer.Exit(reproduce_claims(request, show_json if json else show_table))


@app.command(
    epilog=epilog(
        "brokerlab conformance tests/conformance/*.json",
        "brokerlab conformance tests/conformance/lines.json --runtime container --protocol tid-fixed",
        "brokerlab conformance my-case.json --case two-subscribers-one-match --runtime all --junit results.xml",
        codes={ExitCode.CORRECT: "every case that was run passed", ExitCode.VIOLATED: "some case failed"}
        | BAD_INPUT
        | HOST
        | INTERRUPTED,
    )
)
def conformance(
    files: Annotated[list[Path], typer.Argument(metavar="FILE", help="JSON or YAML; one case or a list of them.")],
    *,
    runtime: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="What hosts the brokers: simulated (which is the default), process, container, or all; "
            "may be repeated.",
            show_default=False,
        ),
    ] = None,
    protocol: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="Only this one of the protocols that cases allow; may be repeated.", show_default=False
        ),
    ] = None,
    case: Annotated[
        list[str] | None, typer.Option(metavar="ID", help="Only this case; may be repeated.", show_default=False)
    ] = None,
    junit: JunitOption = None,
) -> None:
    """Run behaviour cases on every protocol they allow, and show which pass."""
    from command_line.commands.conformance import SIMULATED, Request, run_conformance

    request = Request(files, runtime or [SIMULATED], protocol or [], case or [], junit)
    raise typer.Exit(run_conformance(request))
