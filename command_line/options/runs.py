"""Commands for single runs: check, emulate, analyze, report, compare, query, trace."""
# ruff: noqa: PLC0415

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from analysis.tables.event_choice import EventTable
from command_line.commands.answer_format import Format
from command_line.help import BAD_INPUT, HOST, INTERRUPTED, VERDICTS, epilog
from command_line.options.shared import (
    EventsOption,
    JsonOption,
    JunitOption,
    RunArgument,
    RunsArgument,
    ScenarioArgument,
    SetOption,
    SparkOption,
    SummaryOption,
    answer,
    overrides,
    spark_master,
)
from record.errors import BadInputError
from record.exit_codes import ExitCode

app = typer.Typer()


@app.command(
    epilog=epilog(
        "brokerlab check scenarios/quickstart.yaml",
        "brokerlab check scenarios/cyclic-30.yaml --set workload.publications.rate=80/s",
        "brokerlab check scenarios/semi-56.yaml --set time_dilation=3 --processors 8",
        codes={ExitCode.CORRECT: "valid; the prediction says how much of the host it takes"}
        | BAD_INPUT
        | HOST
        | INTERRUPTED,
    )
)
def check(
    scenario: ScenarioArgument,
    *,
    set_: SetOption = None,
    processors: Annotated[
        int | None,
        typer.Option(min=1, help="Processors of the host that is asked about; those of this one by default."),
    ] = None,
    calibration: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Costs of a run (`brokerlab calibrate`); the shipped ones by default."),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Check a scenario without running it: is it valid, what will it do, and does this host carry it?"""
    from command_line.commands.check import CheckRequest, check_scenario

    request = CheckRequest(scenario, overrides(set_), calibration, processors)
    with answer(json) as form:
        raise typer.Exit(check_scenario(request, form))


@app.command(
    epilog=epilog(
        "brokerlab emulate quickstart",
        "brokerlab emulate scenarios/quickstart.yaml",
        "brokerlab emulate scenarios/quickstart.yaml --set timeline.run=20s",
        "brokerlab emulate scenarios/quickstart.yaml --set time_dilation=auto",
        "brokerlab emulate scenarios/smoke.yaml --runtime process --seed 7",
        "brokerlab emulate scenarios/quickstart.yaml --runtime simulated --no-spark",
        "brokerlab emulate scenarios/quickstart.yaml --runtime simulated --live --speed 10",
        "brokerlab emulate scenarios/smoke.yaml --twin",
        "brokerlab emulate scenarios/quickstart.yaml --hosts inventory.yaml",
        "brokerlab emulate scenarios/smoke.yaml --no-report --junit verdicts.xml",
        "brokerlab emulate scenarios/smoke.yaml --runtime simulated --against smoke",
        codes=VERDICTS | BAD_INPUT | HOST | INTERRUPTED,
    )
)
def emulate(
    scenario: ScenarioArgument,
    *,
    runtime: Annotated[
        str, typer.Option(help="Runtime of the brokers: auto, container, process or simulated.")
    ] = "auto",
    links: Annotated[str, typer.Option(help="Link driver: auto, netem or userspace.")] = "auto",
    seed: Annotated[int | None, typer.Option(help="Seed that replaces the scenario's own.", show_default=False)] = None,
    set_: SetOption = None,
    out: Annotated[Path, typer.Option(help="Parent of the new run directory.")] = Path("runs"),
    report: Annotated[bool, typer.Option("--report/--no-report", help="Also make the HTML report.")] = True,
    calibration: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Costs of brokers (`brokerlab calibrate`): those of simulated ones, and those of this host where "
            "nothing waits, by which delays of real ones are explained. The shipped ones by default.",
        ),
    ] = None,
    hosts: Annotated[
        Path | None,
        typer.Option(
            metavar="INVENTORY", help="Spread the overlay over these hosts (`brokerlab hosts`, docs/hosts.md)."
        ),
    ] = None,
    spark: SparkOption = None,
    events: EventsOption = EventTable.ALL,
    junit: JunitOption = None,
    summary_md: SummaryOption = None,
    twin: Annotated[
        bool,
        typer.Option(
            "--twin", help="Also simulate the run (seconds), and set real brokers and simulated ones side by side."
        ),
    ] = False,
    against: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Run the seeds of this baseline (`brokerlab baseline save`), and exit with 1 where a figure is worse.",
            show_default=False,
        ),
    ] = None,
    live: Annotated[
        bool,
        typer.Option(
            "--live", help="Serve a page on loopback that shows the run while it goes on, from its logs alone."
        ),
    ] = False,
    json: JsonOption = False,
    speed: Annotated[
        float | None,
        typer.Option(
            metavar="FACTOR",
            min=0.01,
            help="Hold a simulated run to this many seconds of the scenario a second, one variant after another, so "
            "that `--live` can be watched; by default it is as fast as the host.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Run a scenario, analyse its logs and judge it."""
    from command_line.commands.baseline import run_against
    from command_line.commands.emulate import EmulationRequest, run_scenario
    from command_line.commands.run_engines import BackgroundSpark, plain_engine, spark_is_here
    from scenario.shipped import file_of
    from studies.verdict_files import VerdictFiles

    changed = overrides(set_)
    if seed is not None:
        changed["seed"] = str(seed)
    engine = BackgroundSpark() if spark or (spark is None and spark_is_here()) else plain_engine()
    file, files = file_of(scenario, "scenario"), VerdictFiles(junit, summary_md)
    request = EmulationRequest(
        file, changed, runtime, links, out, report, calibration, engine, events, hosts, files, twin, live, speed
    )
    with answer(json) as form:
        raise typer.Exit(run_scenario(request, form) if against is None else run_against(request, against, seed, form))


@app.command(
    epilog=epilog(
        "brokerlab analyze runs/20260131T235959Z-quickstart-1a2b",
        "brokerlab analyze RUN --no-spark --junit verdicts.xml",
        "brokerlab analyze s3://bucket/runs/NAME --master spark://host:7077",
        codes=VERDICTS | BAD_INPUT | HOST | INTERRUPTED,
    )
)
def analyze(
    run: Annotated[
        str,
        typer.Argument(
            metavar="RUN",
            help="A run directory, or the URI of one: s3, hdfs, gs, abfss. Workers of a cluster mount the directory "
            "at the same path, or reach the store and mount nothing.",
        ),
    ],
    *,
    master: Annotated[
        str | None,
        typer.Option(
            help="The Spark master: local[N], spark://host:7077, yarn, k8s://host:443, or sc://host:15002 for a server "
            "of Spark Connect; this host's processors by default."
        ),
    ] = None,
    spark: SparkOption = None,
    events: EventsOption = EventTable.ALL,
    json: JsonOption = False,
    junit: JunitOption = None,
    summary_md: SummaryOption = None,
) -> None:
    """Repeat the analysis of a run from its logs, and print its verdicts."""
    from analysis.engines import Engine, SparkEngine
    from command_line.commands.analyze import analyze_run
    from command_line.commands.run_engines import plain_engine, spark_is_here
    from studies.verdict_files import VerdictFiles

    if master is not None and spark is False:
        raise BadInputError(f"--master {master} and --no-spark contradict each other; leave one out")
    spark_master(master)
    with_spark = master is not None or spark or (spark is None and spark_is_here())
    engine: Engine = SparkEngine(master) if with_spark else plain_engine()
    with answer(json) as form:
        raise typer.Exit(analyze_run(run, engine, VerdictFiles(junit, summary_md), events, form))


@app.command(
    epilog=epilog(
        "brokerlab report runs/20260131T235959Z-quickstart-1a2b",
        "brokerlab report RUN RUN -o both.html",
        codes={ExitCode.CORRECT: "the page was made"} | BAD_INPUT | HOST | INTERRUPTED,
    )
)
def report(
    runs: RunsArgument,
    *,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="Write the page here. One run's goes into its directory by default, and that of several to "
            "report.html.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Make a run's HTML report again from its results, or one report for several runs, beside each other."""
    from command_line.commands.report import report_runs

    raise typer.Exit(report_runs(runs, out))


@app.command(
    epilog=epilog(
        "brokerlab replay runs/20260131T235959Z-quickstart-1a2b",
        "brokerlab replay RUN --html replay.html",
        codes={ExitCode.CORRECT: "the page was shown, or written"} | BAD_INPUT | HOST | INTERRUPTED,
    )
)
def replay(
    run: RunArgument,
    *,
    html: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the page as one file that needs no server and no network."),
    ] = None,
) -> None:
    """Show a run again, second by second: its overlay as a map, queues, faults, and what was due and has arrived."""
    from command_line.commands.replay import replay_run

    raise typer.Exit(replay_run(run, html))


@app.command(
    epilog=epilog(
        "brokerlab compare runs/20260131T120000Z-quickstart-1a2b runs/20260131T130000Z-quickstart-3c4d",
        "brokerlab compare RUN RUN --within delay=15%,messages=2%",
        "brokerlab compare RUN RUN --json",
        codes={
            ExitCode.CORRECT: "compared; the limits of --within are kept, where there are any",
            ExitCode.VIOLATED: "they are not kept",
        }
        | BAD_INPUT,
    )
)
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
    json: JsonOption = False,
) -> None:
    """Set two analysed runs side by side: delays, messages, matching, deliveries, and which variant is fastest."""
    from command_line.commands import compare as commands

    show = commands.as_json if json else commands.as_tables
    raise typer.Exit(commands.compare(first, second, within, show))


@app.command(
    epilog=epilog(
        'brokerlab query RUN "SELECT event, count(*) AS records FROM events GROUP BY event ORDER BY records DESC"',
        'brokerlab query RUN RUN "SELECT run, variant, avg(delay_ms) AS mean_ms FROM notifications GROUP BY ALL"',
        'brokerlab query RUN "SELECT * FROM links" --format csv',
        codes={ExitCode.CORRECT: "the query was answered"} | BAD_INPUT | HOST | INTERRUPTED,
    )
)
def query(
    runs: RunsArgument,
    sql: Annotated[str, typer.Argument(metavar="SQL", help="One statement that reads, in DuckDB's SQL.")],
    *,
    form: Annotated[Format, typer.Option("--format", help="The form of the answer.")] = Format.TABLE,
) -> None:
    """Answer a question about analysed runs in SQL: their tables, and their logs as the table `events`."""
    from command_line.commands import query as commands

    raise typer.Exit(commands.query(runs, sql, form))


@app.command(
    epilog=epilog(
        "brokerlab trace runs/20260131T235959Z-quickstart-1a2b -o journeys.pftrace",
        "brokerlab trace RUN -o slow.json --variant dynamic --worst 20 --sample 0",
        "brokerlab trace RUN -o one.pftrace --publications P1:17,P2:4",
        codes={ExitCode.CORRECT: "the file was written"} | BAD_INPUT | HOST | INTERRUPTED,
    )
)
def trace(
    run: RunArgument,
    *,
    out: Annotated[
        Path,
        typer.Option(
            "--out", "-o", metavar="FILE", help="A file that ends in .pftrace (Perfetto) or .json (chrome://tracing)."
        ),
    ],
    variant: Annotated[
        str | None, typer.Option(help="The variant; the first one by default.", show_default=False)
    ] = None,
    worst: Annotated[int, typer.Option(min=0, help="Publications with the greatest delays.")] = 200,
    sample: Annotated[int, typer.Option(min=0, help="Publications at random.")] = 200,
    seed: Annotated[int, typer.Option(help="Seed of the sample.")] = 1,
    publications: Annotated[
        str | None, typer.Option(metavar="ID,...", help="These publications and no others.", show_default=False)
    ] = None,
    begin: Annotated[
        float | None,
        typer.Option("--from", metavar="SECONDS", help="Publications from then on.", show_default=False),
    ] = None,
    end: Annotated[
        float | None,
        typer.Option(
            "--to", metavar="SECONDS", help="Publications until then; from the start of the run phase, as the other.",
            show_default=False,
        ),
    ] = None,
) -> None:  # fmt: skip
    """Write journeys of publications for a trace viewer: the slowest, all lost, doubled or spurious, and a sample."""
    from analysis.trace import Choice
    from command_line.commands.trace import trace_run

    named = tuple(name.strip() for name in (publications or "").split(",") if name.strip())
    choice = Choice(variant=variant, worst=worst, sample=sample, seed=seed, publications=named, begin=begin, end=end)
    raise typer.Exit(trace_run(run, choice, out))
