"""The command line. Each command loads what it needs when it runs, so that `brokerlab --help` answers at once."""
# ruff: noqa: PLC0415

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from emulation.commands.hosts import app as hosts_app
from emulation.commands.topology import app as topology_app
from emulation.errors import BadInputError, UserError

app = typer.Typer(
    name="brokerlab",
    help="A testbed for content-based publish/subscribe broker overlays: emulates an overlay from one scenario file, "
    "analyses what happened to every message, and judges both delivery and the emulation itself.",
    epilog="Exit codes: 0 delivered correctly on a valid run; 1 delivery violated; 2 bad input; "
    "3 the emulation did not keep its promises; 4 this host cannot run it.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode="rich",
)

app.add_typer(topology_app)
app.add_typer(hosts_app)

RunArgument = Annotated[Path, typer.Argument(metavar="RUN", help="A run directory, such as runs/20260131T235959Z-...")]

SparkOption = Annotated[
    bool, typer.Option("--spark/--no-spark", help="Analyse in Spark, or in plain Python: it needs no Java.")
]

JunitOption = Annotated[
    Path | None,
    typer.Option("--junit", metavar="FILE", help="Write the verdicts as JUnit XML too.", show_default=False),
]

_EMULATE_EXAMPLES = """
[bold]Examples[/bold]

  brokerlab emulate scenarios/quickstart.yaml\n
  brokerlab emulate scenarios/quickstart.yaml --set timeline.run=20s\n
  brokerlab emulate scenarios/quickstart.yaml --set time_dilation=3\n
  brokerlab emulate scenarios/smoke.yaml --runtime process --seed 7\n
  brokerlab emulate scenarios/quickstart.yaml --runtime simulated --no-spark\n
  brokerlab emulate scenarios/quickstart.yaml --hosts inventory.yaml\n
  brokerlab emulate scenarios/smoke.yaml --no-report --junit verdicts.xml
"""


@app.command(epilog=_EMULATE_EXAMPLES)
def emulate(
    scenario: Annotated[Path, typer.Argument(help="The scenario's YAML file.")],
    *,
    runtime: Annotated[
        str, typer.Option(help="What hosts the brokers: auto, container, process or simulated.")
    ] = "auto",
    links: Annotated[str, typer.Option(help="What gives links their properties: auto, netem or userspace.")] = "auto",
    seed: Annotated[int | None, typer.Option(help="Instead of the scenario's own.", show_default=False)] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Changes one field of the scenario; may be repeated."),
    ] = None,
    out: Annotated[Path, typer.Option(help="Where run directories are made.")] = Path("runs"),
    report: Annotated[bool, typer.Option("--report/--no-report", help="Make the HTML report as well.")] = True,
    calibration: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="What simulated brokers' own work costs (`brokerlab calibrate`); shipped by default."
        ),
    ] = None,
    hosts: Annotated[
        Path | None,
        typer.Option(
            metavar="INVENTORY", help="Spread the overlay over these hosts (`brokerlab hosts`, docs/hosts.md)."
        ),
    ] = None,
    spark: SparkOption = True,
    junit: JunitOption = None,
) -> None:
    """Run a scenario, analyse its logs and judge it."""
    from emulation.commands.engines import BackgroundSpark, NoPreparation
    from emulation.commands.run import Request, run_scenario

    overrides = _overrides(set_ or [])
    if seed is not None:
        overrides["seed"] = str(seed)
    engine = BackgroundSpark() if spark else NoPreparation()
    request = Request(scenario, overrides, runtime, links, out, report, calibration, engine, hosts, junit)
    raise typer.Exit(run_scenario(request))


_ANALYZE_EXAMPLES = """
[bold]Examples[/bold]

  brokerlab analyze runs/20260131T235959Z-quickstart-1a2b\n
  brokerlab analyze RUN --master spark://host:7077\n
  brokerlab analyze RUN --no-spark --junit verdicts.xml\n
  brokerlab analyze RUN --follow
"""


@app.command(epilog=_ANALYZE_EXAMPLES)
def analyze(
    run: RunArgument,
    master: Annotated[
        str | None, typer.Option(help="The Spark master, such as spark://host:7077; local by default.")
    ] = None,
    spark: SparkOption = True,
    follow: Annotated[
        bool,
        typer.Option("--follow", help="Show a provisional summary while the run goes on, and analyse it when it ends."),
    ] = False,
    junit: JunitOption = None,
) -> None:
    """Repeat the analysis of a run from its logs, and print its verdicts; or follow a run in progress."""
    from analysis.engines import PlainEngine, SparkEngine
    from emulation.commands.results import analyze_run

    for option, given in ((f"--master {master}", master is not None), ("--follow", follow)):
        if given and not spark:
            raise BadInputError(f"{option} and --no-spark contradict each other; leave one out")
    if follow:
        from emulation.commands.follow import follow_run

        raise typer.Exit(follow_run(run, master, junit))
    raise typer.Exit(analyze_run(run, SparkEngine(master) if spark else PlainEngine(), junit))


@app.command()
def report(run: RunArgument) -> None:
    """Make a run's HTML report again from its results."""
    from emulation.commands.results import report_run

    raise typer.Exit(report_run(run))


_COMPARE_EXAMPLES = """
[bold]Examples[/bold]

  brokerlab compare runs/20260131T120000Z-quickstart-1a2b runs/20260131T130000Z-quickstart-3c4d\n
  brokerlab compare RUN RUN --within delay=15%,messages=2%\n
  brokerlab compare RUN RUN --json
"""


@app.command(epilog=_COMPARE_EXAMPLES)
def compare(
    first: RunArgument,
    second: RunArgument,
    *,
    within: Annotated[
        str | None,
        typer.Option(
            metavar="NAME=SHARE,...",
            help="Exit with 1 when a variant differs by more, or the winners differ: "
            "delay (the mean), p50, p95, p99, messages, matching.",
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
) -> None:
    """Set two analysed runs side by side: delays, messages, matching, deliveries, and which variant is fastest."""
    from emulation.commands import compare as commands

    show = commands.as_json if json else commands.as_tables
    raise typer.Exit(commands.compare(first, second, within, show))


_CALIBRATE_EXAMPLES = """
[bold]Examples[/bold]

  brokerlab calibrate\n
  brokerlab calibrate --brokers 56 --out calibrations/planetlab.json\n
  brokerlab emulate scenarios/quickstart.yaml --runtime simulated --calibration calibration.json
"""


@app.command(epilog=_CALIBRATE_EXAMPLES)
def calibrate(
    *,
    out: Annotated[Path, typer.Option(metavar="FILE", help="Where the calibration is saved.")] = Path(
        "calibration.json"
    ),
    runtime: Annotated[
        str, typer.Option(help="What hosts the brokers meanwhile: auto, container or process.")
    ] = "auto",
    brokers: Annotated[
        int, typer.Option(min=2, max=100, help="How many brokers share this host while latencies are measured.")
    ] = 30,
) -> None:
    """Measure on this host what a real broker's own work costs, for simulated runs."""
    from emulation.commands.calibrate import calibrate_host

    raise typer.Exit(calibrate_host(out, brokers, runtime))


_CONFORMANCE_EXAMPLES = """
[bold]Examples[/bold]

  brokerlab conformance tests/conformance/*.json\n
  brokerlab conformance tests/conformance/lines.yaml --runtime container --protocol tid-fixed\n
  brokerlab conformance my-case.json --case two-subscribers-one-match --runtime all --junit results.xml
"""


@app.command(epilog=_CONFORMANCE_EXAMPLES)
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
    junit: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the results as JUnit XML too.", show_default=False)
    ] = None,
) -> None:
    """Run behaviour cases on every protocol they allow, and show which pass."""
    from emulation.commands.conformance import SIMULATED, Request, run_conformance

    request = Request(files, runtime or [SIMULATED], protocol or [], case or [], junit)
    raise typer.Exit(run_conformance(request))


_REPRODUCE_EXAMPLES = """
[bold]Examples[/bold]

  brokerlab reproduce tid-5a\n
  brokerlab reproduce tid --seeds 10 --json > claims.json\n
  brokerlab reproduce tid-5c --runtime container --seeds 2\n
  brokerlab reproduce tid-fail --runtime container --set time_dilation=5\n
  brokerlab reproduce --list

Exit codes: 0 all was measured, whatever the verdicts on claims; 1 a property was refuted or a delivery violated.
"""


@app.command(epilog=_REPRODUCE_EXAMPLES)
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
        int | None, typer.Option(min=1, help="Runs of each scenario; by default each claim's own.", show_default=False)
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="KEY=VALUE", help="Changes a field of every scenario; may be repeated.", show_default=False
        ),
    ] = None,
    runtime: Annotated[
        str, typer.Option(help="What hosts the brokers: simulated, container or process; the last two in real time.")
    ] = "simulated",
    jobs: Annotated[
        int | None,
        typer.Option(min=1, help="Simulations side by side; as many as CPUs by default.", show_default=False),
    ] = None,
    out: Annotated[Path, typer.Option(help="Where what was measured is kept.")] = Path("runs/reproduce"),
    resume: Annotated[bool, typer.Option("--resume", help="Use again what an earlier run of this measured.")] = False,
    keep_runs: Annotated[
        bool, typer.Option("--keep-runs", help="Keep all run directories: logs of some 100 MB each.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Measure what the papers claim: published, measured over several seeds, verdict."""
    import os

    from emulation.commands.reproduce import Request, list_claims, reproduce_claims, show_json, show_table

    if list_:
        raise typer.Exit(list_claims())
    request = Request(
        names=tuple(claims or ()),
        seeds=seeds,
        overrides=_overrides(set_ or []),
        runtime=runtime,
        jobs=jobs or len(os.sched_getaffinity(0)),
        out=out,
        resume=resume,
        keep_runs=keep_runs,
    )
    raise typer.Exit(reproduce_claims(request, show_json if json else show_table))


_CAMPAIGN_EXAMPLES = """
[bold]Examples[/bold]

  brokerlab campaign campaigns/kill-one.yaml\n
  brokerlab campaign campaigns/kill-random.yaml --inventory hosts.ini --keep-runs all\n
  brokerlab campaign campaigns/flaky-links.yaml --runtime simulated --shrink\n
  brokerlab campaign campaigns/kill-one.yaml --cell 3+edge-2 --out /tmp/one

The same command goes on where an earlier one was ended. Exit codes: 0 every cell delivered correctly; 1 some did not;
3 some run was INVALID, also when it was tried again.
"""


@app.command(epilog=_CAMPAIGN_EXAMPLES)
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
    jobs: Annotated[
        int | None,
        typer.Option(min=1, help="Simulations side by side; as many as CPUs by default.", show_default=False),
    ] = None,
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
    import os

    from emulation.commands.campaign import Request, keep_named, list_cells, run_campaign

    request = Request(
        file=file,
        out=out,
        inventory=inventory,
        runtime=runtime,
        retries=retries,
        jobs=jobs or len(os.sched_getaffinity(0)),
        master=master,
        keep=keep_named(keep_runs),
        chosen=tuple(cell or ()),
        fresh=fresh,
        shrink=shrink,
        shrink_on=shrink_on,
        junit=junit,
    )
    raise typer.Exit(list_cells(request) if list_ else run_campaign(request))


@app.command()
def doctor() -> None:
    """Show what this host can run, what is missing, and how to get it."""
    from emulation.commands.host import examine_host

    raise typer.Exit(examine_host())


@app.command()
def clean() -> None:
    """Remove what runs that died have left on this host, and nothing else."""
    from emulation.commands.host import clean_host

    raise typer.Exit(clean_host())


def _overrides(settings: list[str]) -> dict[str, str]:
    """`KEY=VALUE` pairs."""
    pairs = [setting.partition("=") for setting in settings]
    for key, equals, value in pairs:
        if not (key and equals):
            raise BadInputError(f"--set {key}{equals}{value}: write KEY=VALUE, such as --set timeline.run=20s")
    return {key.strip(): value for key, _, value in pairs}


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"brokerlab {version('brokerlab')}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Options that need no command."""


def main() -> None:
    """Runs the command line; a user's mistake is one line and an exit code, never a stack trace."""
    try:
        app()
    except UserError as error:
        typer.secho(f"brokerlab: {error}", err=True, fg=typer.colors.RED if sys.stderr.isatty() else None)
        sys.exit(error.exit_code)


if __name__ == "__main__":
    main()
