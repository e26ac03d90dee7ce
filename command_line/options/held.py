"""Commands for a held run: up, down, status, exec, log, capture, fault, heal, publish, subscribe, step, until, speed,
save."""
# ruff: noqa: PLC0415

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from command_line.completions import broker_names, held_names, link_names, log_names, target_names
from command_line.help import BAD_INPUT, HOST, INTERRUPTED, VERDICTS, epilog
from command_line.options.shared import (
    JsonOption,
    ScenarioArgument,
    SetOption,
    answer,
    overrides,
    stored_run,
)
from record.errors import BadInputError
from record.exit_codes import ExitCode

if TYPE_CHECKING:
    from scenario.sections.units import Quantity

app = typer.Typer()

PANEL = "A run that stays (docs/held-runs.md)"
_DONE = {ExitCode.CORRECT: "done"} | BAD_INPUT | HOST

RunOption = Annotated[
    str | None,
    typer.Option(
        "--run",
        metavar="NAME",
        envvar="BROKERLAB_HELD_RUN",
        autocompletion=held_names,
        help="The run, or a part of its name; needed where several are held.",
    ),
]
BrokerArgument = Annotated[
    str, typer.Argument(metavar="BROKER", help="The broker's name.", autocompletion=broker_names)
]
AtOption = Annotated[
    str, typer.Option("--at", metavar="BROKER", help="The client's broker.", autocompletion=broker_names)
]


@app.command(
    rich_help_panel=PANEL,
    epilog=epilog(
        "brokerlab up smoke",
        "brokerlab up scenarios/smoke.yaml --for 2h --log-quota 4GiB",
        "brokerlab up smoke --runtime simulated --speed 0.1",
        "brokerlab up scenarios/smoke.yaml --runtime process --set workload.publications.rate=1/s --live",
        codes={ExitCode.CORRECT: "the run is up; with --foreground: as of `brokerlab down`"}
        | BAD_INPUT
        | HOST
        | INTERRUPTED,
    ),
)
def up(
    scenario: ScenarioArgument,
    *,
    limit: Annotated[
        str, typer.Option("--for", metavar="DURATION", help="The time after which the run ends by itself.")
    ] = "30min",
    log_quota: Annotated[
        str, typer.Option(metavar="SIZE", help="The size of all logs at which the run ends by itself.")
    ] = "1GiB",
    runtime: Annotated[
        str, typer.Option(help="Runtime of the brokers: auto, container, process or simulated.")
    ] = "auto",
    links: Annotated[str, typer.Option(help="Link driver: auto, netem or userspace.")] = "auto",
    set_: SetOption = None,
    out: Annotated[Path, typer.Option(help="Parent of the new run directory.")] = Path("runs"),
    report: Annotated[bool, typer.Option("--report/--no-report", help="Also make the HTML report at the end.")] = True,
    spark: Annotated[
        bool,
        typer.Option(
            "--spark/--no-spark",
            help="Analyse in Spark, which takes a while to start, or in plain Python.",
        ),
    ] = False,
    speed: Annotated[
        float | None,
        typer.Option(
            metavar="FACTOR",
            help="Seconds of virtual time that pass in a second of a simulated run; 0: it stands still at first.",
            show_default="1",
        ),
    ] = None,
    live: Annotated[bool, typer.Option("--live", help="Serve a page on loopback that shows the run.")] = False,
    foreground: Annotated[
        bool, typer.Option("--foreground", help="Supervise the run here, until it ends, and not in the background.")
    ] = False,
) -> None:
    """Start a scenario's overlay and clients, which stay up without a terminal until `brokerlab down`."""
    from command_line.commands.run_engines import BackgroundSpark, plain_engine
    from command_line.commands.up import HoldRequest, hold_run, start_supervisor
    from scenario.sections.units import DURATION, SIZE
    from scenario.shipped import file_of

    request = HoldRequest(
        file_of(scenario, "scenario"), overrides(set_), runtime, links, out, _quantity("--for", DURATION, limit),
        round(_quantity("--log-quota", SIZE, log_quota)), report, live, speed,
    )  # fmt: skip
    if not foreground:
        raise typer.Exit(start_supervisor(request, sys.argv[1:]))
    raise typer.Exit(hold_run(request, BackgroundSpark() if spark else plain_engine()))


@app.command(
    rich_help_panel=PANEL,
    epilog=epilog("brokerlab down", "brokerlab down --run smoke", codes=VERDICTS | BAD_INPUT | HOST),
)
def down(*, run: RunOption = None) -> None:
    """End a held run in order and judge it, as `brokerlab emulate` does."""
    from command_line.commands.down import end_run

    raise typer.Exit(end_run(run))


@app.command(rich_help_panel=PANEL, epilog=epilog("brokerlab status", codes=_DONE))
def status(*, run: RunOption = None, json: JsonOption = False) -> None:
    """Show the held runs of this host: brokers, clients, faults in effect, and when each ends by itself."""
    from command_line.commands.status import show_status

    with answer(json) as form:
        raise typer.Exit(show_status(run, form))


@app.command(
    rich_help_panel=PANEL, epilog=epilog("brokerlab log B3", "brokerlab log B3 --follow --last 0", codes=_DONE)
)
def log(
    broker: Annotated[
        str,
        typer.Argument(
            metavar="BROKER", help="The broker; or publishers, subscribers, emulator.", autocompletion=log_names
        ),
    ],
    *,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on with what is written from now on.")] = False,
    last: Annotated[int, typer.Option(min=0, help="Lines to begin with.")] = 20,
    run: RunOption = None,
) -> None:
    """Show the log of a broker of a held run, a record a line (docs/logs.md)."""
    from command_line.commands.log import follow_log, show_log

    show = follow_log if follow else show_log
    raise typer.Exit(show(run, broker, last))


@app.command(
    rich_help_panel=PANEL,
    epilog=epilog(
        "brokerlab fault kill B7",
        "brokerlab fault kill hub --for 10s",
        "brokerlab fault cut B1-B2",
        "brokerlab fault degrade B1-B2 --with delay=50ms --with loss=2%",
        codes=_DONE,
        note="Verbs, names and fields are those of a scenario's `faults` (docs/scenarios.md); `cut` is `link_down`.",
    ),
)
def fault(
    verb: Annotated[str, typer.Argument(metavar="VERB", help="kill, stop, pause, cut, degrade, ...")],
    targets: Annotated[
        list[str],
        typer.Argument(metavar="TARGET...", help="Brokers or links, by name or role.", autocompletion=target_names),
    ],
    *,
    lasts: Annotated[
        str | None,
        typer.Option("--for", metavar="DURATION", help="The time after which it is healed.", show_default=False),
    ] = None,
    with_: Annotated[
        list[str] | None, typer.Option("--with", metavar="FIELD=VALUE", help="A further field of the fault.")
    ] = None,
    run: RunOption = None,
) -> None:
    """Inject a fault into brokers or links of a held run now; it is judged like a planned one."""
    from command_line.commands.fault import inject_fault

    settings = dict(_setting(text) for text in with_ or ())
    raise typer.Exit(inject_fault(run, verb, targets, lasts, settings))


@app.command(
    rich_help_panel=PANEL,
    epilog=epilog("brokerlab heal", "brokerlab heal B7", "brokerlab heal B1-B2", codes=_DONE),
)
def heal(
    targets: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[TARGET]...",
            help="Brokers to restart or resume, links to restore; all by default.",
            autocompletion=target_names,
        ),
    ] = None,
    *,
    run: RunOption = None,
) -> None:
    """End faults of a held run."""
    from command_line.commands.heal import heal_faults

    raise typer.Exit(heal_faults(run, targets or ()))


@app.command(
    rich_help_panel=PANEL,
    epilog=epilog("brokerlab publish --at B1 \"[class,'STOCK'],[price,100.5]\"", codes=_DONE),
)
def publish(
    content: Annotated[str, typer.Argument(metavar="PUBLICATION", help="Attributes in PADRES notation.")],
    *,
    at: AtOption,
    advertise: Annotated[
        str | None,
        typer.Option(
            metavar="PREDICATES", help="The advertisement before it; its class and attributes by default.",
            show_default=False,
        ),
    ] = None,
    run: RunOption = None,
) -> None:  # fmt: skip
    """Publish at a broker of a held run; the publication is judged like a planned one."""
    from command_line.commands.publish import publish_by_hand

    raise typer.Exit(publish_by_hand(run, at, content, advertise))


@app.command(
    rich_help_panel=PANEL,
    epilog=epilog(
        "brokerlab subscribe --at B3 \"[class,eq,'STOCK'],[price,>,80]\"",
        "brokerlab subscribe --at B3 --follow \"[class,eq,'STOCK']\"",
        codes=_DONE,
    ),
)
def subscribe(
    content: Annotated[str, typer.Argument(metavar="SUBSCRIPTION", help="Predicates in PADRES notation.")],
    *,
    at: AtOption,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Show what comes, until Ctrl-C withdraws the subscription.")
    ] = False,
    run: RunOption = None,
) -> None:
    """Subscribe at a broker of a held run; the notifications are judged as well."""
    from command_line.commands.subscribe import subscribe_and_follow, subscribe_by_hand

    made = subscribe_and_follow if follow else subscribe_by_hand
    raise typer.Exit(made(run, at, content))


@app.command(
    "exec",
    rich_help_panel=PANEL,
    context_settings={"ignore_unknown_options": True},
    epilog=epilog(
        "brokerlab exec B3 -- ip address",
        "brokerlab exec B3 -- ss --tcp --numeric",
        "brokerlab exec B3 -- bash",
        codes=_DONE,
        note="Ends with the exit code of the command, otherwise.",
    ),
)
def exec_(
    broker: BrokerArgument,
    command: Annotated[list[str] | None, typer.Argument(metavar="-- COMMAND...", help="The command.")] = None,
    *,
    run: RunOption = None,
) -> None:
    """Run a command, with a terminal where there is one, in the namespaces of a held run's broker."""
    from command_line.commands.exec import execute, require_command

    require_command(command or ())
    raise typer.Exit(execute(run, broker, command or (), os.environ))


@app.command(
    rich_help_panel=PANEL,
    epilog=epilog(
        "brokerlab capture B1-B2 -o link.pcapng",
        "brokerlab capture B1-B2 -o link.pcapng --for 10s",
        "brokerlab capture --profile ~/.config/wireshark/profiles/brokerlab",
        codes=_DONE,
        note="Wireshark decodes brokers' messages by the profile (`wireshark -C brokerlab link.pcapng`).",
    ),
)
def capture(
    link: Annotated[
        str | None,
        typer.Argument(
            metavar="LINK", help="The link, such as B1-B2, captured at B1's end.", autocompletion=link_names
        ),
    ] = None,
    *,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="The pcapng file.", show_default=False)
    ] = None,
    profile: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Write a profile for Wireshark there, and capture nothing.", show_default=False
        ),
    ] = None,
    lasts: Annotated[
        str | None,
        typer.Option("--for", metavar="DURATION", help="Until Ctrl-C by default.", show_default=False),
    ] = None,
    run: RunOption = None,
) -> None:
    """Capture the frames of a held run's link at one end, with the kernel's time stamps."""
    from command_line.commands.capture import capture_link, write_wireshark_profile
    from scenario.sections.units import DURATION

    if profile is not None:
        raise typer.Exit(write_wireshark_profile(profile))
    if link is None or out is None:
        raise BadInputError("capture: name a link and a file, such as `brokerlab capture B1-B2 -o link.pcapng`")
    raise typer.Exit(capture_link(run, link, out, None if lasts is None else _quantity("--for", DURATION, lasts)))


@app.command(rich_help_panel=PANEL, epilog=epilog("brokerlab step 100ms", codes=_DONE))
def step(
    lasts: Annotated[str, typer.Argument(metavar="DURATION", help="The virtual time that passes.")],
    *,
    run: RunOption = None,
) -> None:
    """Let time pass in a held simulated run as fast as possible; then it stands still."""
    from command_line.commands.step import step_time
    from scenario.sections.units import DURATION

    raise typer.Exit(step_time(run, _quantity("step", DURATION, lasts)))


@app.command(
    rich_help_panel=PANEL,
    epilog=epilog(
        'brokerlab until "B3 sends subscribe to B4"',
        'brokerlab until "subscribers notified publish number 2 from B3"',
        codes=_DONE | INTERRUPTED,
        note="A record is written NODE EVENT [the first] [KIND] [number N] [to|from PEER], as `brokerlab explore` "
        "names moments; docs/logs.md has the events.",
    ),
)
def until(
    record: Annotated[str, typer.Argument(metavar="RECORD", help="A record of the log that is still to come.")],
    *,
    within: Annotated[
        str, typer.Option(metavar="DURATION", help="The virtual time after which it stands still without the record.")
    ] = "1min",
    run: RunOption = None,
) -> None:
    """Let time pass in a held simulated run until a record of its log; then it stands still."""
    from command_line.commands.until import await_record
    from scenario.sections.units import DURATION

    raise typer.Exit(await_record(run, record, _quantity("--within", DURATION, within)))


@app.command(rich_help_panel=PANEL, epilog=epilog("brokerlab speed 10", "brokerlab speed 0", codes=_DONE))
def speed(
    factor: Annotated[float, typer.Argument(metavar="FACTOR", help="Seconds of virtual time a second; 0: none.")],
    *,
    run: RunOption = None,
) -> None:
    """Change the speed at which time passes in a held simulated run."""
    from command_line.commands.speed import set_speed

    raise typer.Exit(set_speed(run, factor))


@app.command(
    rich_help_panel=PANEL,
    epilog=epilog("brokerlab save -o again.yaml", "brokerlab save latest -o again.yaml", codes=_DONE),
)
def save(
    ended: Annotated[
        Path | None,
        typer.Argument(metavar="[RUN]", help="A held run that has ended (`brokerlab runs`).", parser=stored_run),
    ] = None,
    *,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="The scenario's new file.")],
    run: RunOption = None,
) -> None:
    """Save a scenario that repeats what was done by hand, at the same times."""
    from command_line.commands.save import save_scenario

    raise typer.Exit(save_scenario(run, ended, out))


def _quantity(option: str, quantity: Quantity, text: str) -> float:
    """Raises `BadInputError` for what is no such quantity, or nothing."""
    try:
        value = quantity.parse(text)
    except ValueError as error:
        raise BadInputError(f"{option} {text}: {error}") from error
    if not value:
        raise BadInputError(f"{option} {text}: must be more than 0")
    return value


def _setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise BadInputError(f"--with {text}: write FIELD=VALUE, such as delay=50ms")
    return name, value
