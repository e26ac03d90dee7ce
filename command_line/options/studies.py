"""Commands that run many scenarios: campaign, reproduce, conformance."""
# ruff: noqa: PLC0415

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from command_line.completions import case_file_names, claim_names, protocol_names
from command_line.help import BAD_INPUT, BROKER_DEFECT, HOST, INTERRUPTED, epilog
from command_line.options.shared import (
    CampaignArgument,
    JobsOption,
    JsonOption,
    JunitOption,
    SetOption,
    SummaryOption,
    answer,
    overrides,
    spark_master,
)
from record.exit_codes import ExitCode

app = typer.Typer()

_HostsOption = Annotated[
    Path | None,
    typer.Option(
        metavar="INVENTORY",
        help="Hosts that share the cells (`brokerlab hosts`, docs/hosts.md); this host by default.",
        show_default=False,
    ),
]
_RuntimeOption = Annotated[
    str | None,
    typer.Option(
        help="Runtime that replaces the campaign's own: auto, container, process or simulated.", show_default=False
    ),
]
_MasterOption = Annotated[
    str | None,
    typer.Option(
        help="Spread simulated cells over Spark: local[*], spark://host:7077 or sc://host:15002.", show_default=False
    ),
]
_RetriesOption = Annotated[
    int | None,
    typer.Option(
        min=0,
        max=10,
        help="Further attempts at a cell that other programs, stolen processors, lost frames or clocks disturbed.",
        show_default=False,
    ),
]
_ShrinkOnOption = Annotated[
    str | None,
    typer.Option(metavar="RUNTIME", help="Runtime for --shrink; the campaign's by default.", show_default=False),
]


@app.command(
    epilog=epilog(
        "brokerlab campaign campaigns/kill-one.yaml",
        "brokerlab campaign campaigns/kill-random.yaml --hosts hosts.ini --keep-runs all",
        "brokerlab campaign campaigns/flaky-links.yaml --runtime simulated --shrink",
        "brokerlab campaign campaigns/flaky-links.yaml --runtime simulated --master local[2]",
        "brokerlab campaign campaigns/kill-one.yaml --cell 3+edge-2 --out /tmp/one",
        "brokerlab campaign campaigns/flaky-links.yaml --runtime simulated --live --keep-runs all",
        codes={
            ExitCode.CORRECT: "every cell that was run delivered correctly",
            ExitCode.VIOLATED: "some did not",
            ExitCode.INVALID: "some run was INVALID, even when it was repeated",
        }
        | BROKER_DEFECT
        | BAD_INPUT
        | HOST
        | INTERRUPTED,
        note="The same command continues a campaign that was interrupted.",
    )
)
def campaign(
    file: CampaignArgument,
    *,
    out: Annotated[
        Path | None,
        typer.Option(help="The campaign's directory; runs/campaigns/NAME by default.", show_default=False),
    ] = None,
    hosts: _HostsOption = None,
    runtime: _RuntimeOption = None,
    jobs: JobsOption = None,
    master: _MasterOption = None,
    retries: _RetriesOption = None,
    keep_runs: Annotated[
        str, typer.Option(metavar="WHICH", help="Cells whose run directories are kept, with logs: none, failed or all.")
    ] = "failed",
    cell: Annotated[
        list[str] | None, typer.Option(metavar="KEY", help="Run only this cell; may be repeated.", show_default=False)
    ] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Remove earlier results and start again.")] = (False),
    shrink: Annotated[
        bool, typer.Option("--shrink", help="Reduce the faults of failing cells to the smallest list that still fails.")
    ] = False,
    shrink_on: _ShrinkOnOption = None,
    list_: Annotated[bool, typer.Option("--list", help="Show the cells instead of running them.")] = False,
    json: JsonOption = False,
    junit: JunitOption = None,
    summary_md: SummaryOption = None,
    live: Annotated[
        bool,
        typer.Option(
            "--live",
            help="Serve a page on loopback that shows the matrix as it fills; cells whose runs are kept "
            "(`--keep-runs all`) open their replay.",
        ),
    ] = False,
) -> None:
    """Run a scenario under every combination of factors, fault schedules and seeds, and show the matrix."""
    from command_line.commands.campaign import CampaignRequest, keep_named, list_cells, run_campaign
    from scenario.shipped import file_of
    from studies.verdict_files import VerdictFiles

    request = CampaignRequest(
        file=file_of(file, "campaign"),
        out=out,
        inventory=hosts,
        runtime=runtime,
        retries=retries,
        jobs=jobs,
        master=spark_master(master),
        keep=keep_named(keep_runs),
        chosen=tuple(cell or ()),
        fresh=fresh,
        shrink=shrink,
        shrink_on=shrink_on,
        verdict_files=VerdictFiles(junit, summary_md),
        live=live,
    )
    with answer(json) as form:
        raise typer.Exit(list_cells(request, form) if list_ else run_campaign(request, form))


@app.command(
    epilog=epilog(
        "brokerlab reproduce",
        "brokerlab reproduce --plan",
        "brokerlab reproduce --quick",
        "brokerlab reproduce tid-5a",
        "brokerlab reproduce tid --seeds 10 --json > claims.json",
        "brokerlab reproduce tid-5a --seeds 20..39",
        "brokerlab reproduce --master spark://host:7077",
        "brokerlab reproduce tid-5c --runtime container --seeds 2",
        "brokerlab reproduce tid-fail --runtime container --set time_dilation=5",
        "brokerlab reproduce --list",
        codes={
            ExitCode.CORRECT: "everything was measured, whatever the verdicts on claims",
            ExitCode.VIOLATED: "a property was refuted, or a delivery violated",
        }
        | BAD_INPUT
        | HOST
        | INTERRUPTED,
        note="A run that fails does not end the others; the same command repeats it and keeps the rest.",
    )
)
def reproduce(
    claims: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="CLAIM",
            help="Claims, or prefixes of their names such as tid; all by default.",
            autocompletion=claim_names,
        ),
    ] = None,
    *,
    list_: Annotated[bool, typer.Option("--list", help="Show the claims instead of running them.")] = False,
    plan: Annotated[
        bool, typer.Option("--plan", help="Show scenarios, seeds and processor time instead of running them.")
    ] = False,
    quick: Annotated[
        bool,
        typer.Option("--quick", help="One seed of everything in under 20 minutes, long scenarios made smaller."),
    ] = False,
    seeds: Annotated[
        str | None,
        typer.Option(
            metavar="N|A..B",
            help="Number of runs of each scenario, or the seeds themselves; each claim's own number by default.",
            show_default=False,
        ),
    ] = None,
    set_: SetOption = None,
    runtime: Annotated[
        str,
        typer.Option(help="Runtime of the brokers: simulated, container or process; the last two run in real time."),
    ] = "simulated",
    jobs: JobsOption = None,
    master: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Spread the simulations over Spark: local[*], spark://host:7077 or sc://host:15002.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[Path, typer.Option(help="Directory for the measurements and the page.")] = Path("runs/reproduce"),
    fresh: Annotated[bool, typer.Option("--fresh", help="Remove earlier measurements and make them again.")] = False,
    keep_runs: Annotated[
        bool, typer.Option("--keep-runs", help="Keep all run directories, with some 100 MB of logs each.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Measure the papers' claims over several seeds, and compare them with the published values."""
    from command_line.commands.reproduce import (
        ReproductionRequest,
        list_claims,
        reproduce_claims,
        show_json,
        show_plan,
        show_table,
    )
    from command_line.commands.seeds import chosen_seeds
    from studies.cells.attempt import Keep
    from studies.cells.executors.interface import ExecutorOptions

    if list_:
        raise typer.Exit(list_claims())
    request = ReproductionRequest(
        names=tuple(claims or ()),
        seeds=chosen_seeds(seeds),
        quick=quick,
        overrides=overrides(set_),
        options=ExecutorOptions(
            runtime=runtime,
            retries=0,
            keep=Keep.ALL if keep_runs else Keep.NONE,
            jobs=jobs,
            master=spark_master(master),
        ),
        out=out,
        fresh=fresh,
    )
    if plan:
        raise typer.Exit(show_plan(request))
    raise typer.Exit(reproduce_claims(request, show_json if json else show_table))


@app.command(
    epilog=epilog(
        "brokerlab conformance tests/conformance/*.json",
        "brokerlab conformance tests/conformance/lines.json --runtime container --protocol tid-fixed",
        "brokerlab conformance my-case.json --case two-subscribers-one-match --runtime all --junit results.xml",
        "brokerlab conformance tests/conformance/*.json --fail-fast",
        "brokerlab conformance --image my/broker --level 2 --json > conformance.json",
        "brokerlab conformance --command ./broker --level 1 --row session --row 'A-*'",
        codes={
            ExitCode.CORRECT: "every case that was run passed",
            ExitCode.VIOLATED: "some case failed",
            ExitCode.BROKER_DEFECT: "the code of a protocol failed in some case",
        }
        | BAD_INPUT
        | HOST
        | INTERRUPTED,
    )
)
def conformance(
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FILE",
            help="JSON or YAML with one case or a list of cases, or the name of a shipped file (`brokerlab examples`).",
            show_default=False,
            autocompletion=case_file_names,
        ),
    ] = None,
    *,
    image: Annotated[
        str | None,
        typer.Option(
            metavar="IMAGE", help="Hold the brokers of this image to the contract instead.", show_default=False
        ),
    ] = None,
    command: Annotated[
        str | None,
        typer.Option(
            help="Hold this command, a broker on this host, to the contract; or the command within --image.",
            show_default=False,
        ),
    ] = None,
    level: Annotated[int, typer.Option(min=1, max=3, help="Level of the contract that the broker is to keep.")] = 2,
    row: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ROW",
            help="Only these rows of the contract: a statement (S-9, A-*), a suite or a name; may be repeated.",
            show_default=False,
        ),
    ] = None,
    environment: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="Variable of the broker; may be repeated.", show_default=False),
    ] = None,
    runtime: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Runtime of the brokers: simulated (the default), process, container, or all; may be repeated.",
            show_default=False,
        ),
    ] = None,
    protocol: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME|FILE",
            help="Run only this protocol of those that cases allow, or the one that a file declares; may be repeated.",
            autocompletion=protocol_names,
            show_default=False,
        ),
    ] = None,
    case: Annotated[
        list[str] | None, typer.Option(metavar="ID", help="Run only this case; may be repeated.", show_default=False)
    ] = None,
    verbose: Annotated[bool, typer.Option("--verbose", help="Print a line for each case that passes, too.")] = False,
    fail_fast: Annotated[bool, typer.Option("--fail-fast", help="End at the first case that fails.")] = False,
    json: JsonOption = False,
    junit: JunitOption = None,
    summary_md: SummaryOption = None,
) -> None:
    """Run behaviour cases on every protocol they allow, and show which pass; or hold a broker to its contract."""
    from studies.verdict_files import VerdictFiles

    written = VerdictFiles(junit, summary_md)
    if image is not None or command is not None:
        from command_line.commands import broker_conformance

        for option, given in (
            ("FILE", files), ("--runtime", runtime), ("--case", case), ("--verbose", verbose),
            ("--fail-fast", fail_fast),
        ):  # fmt: skip
            if given:
                raise typer.BadParameter(f"{option} is for cases of protocols; leave it out, or --image and --command")
        tried = broker_conformance.BrokerConformanceRequest(
            image=image,
            command=command,
            level=level,
            protocol=(protocol or ["foreign"])[0],
            rows=row or [],
            environment=environment or [],
            verdict_files=written,
        )
        with answer(json) as form:
            raise typer.Exit(broker_conformance.run_broker_conformance(tried, form))
    from command_line.commands import conformance as cases
    from studies.conformance.display import every_result, failures_only

    if not files:
        raise typer.BadParameter("name files with cases, or a broker by --image or --command")
    request = cases.ConformanceRequest(
        files=files,
        runtimes=runtime or [cases.SIMULATED],
        protocols=protocol or [],
        cases=case or [],
        verdict_files=written,
        show_progress=every_result if verbose else failures_only,
        is_enough=cases.at_a_failure if fail_fast else cases.at_the_end,
    )
    with answer(json) as form:
        raise typer.Exit(cases.run_conformance(request, form))
