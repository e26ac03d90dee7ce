"""`brokerlab topology`: makes, measures, draws and checks overlays and meshes, without running anything."""
# ruff: noqa: PLC0415

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from command_line.help import BAD_INPUT, HELP_OPTIONS, epilog
from command_line.options import multicast
from command_line.options.shared import JsonOption, answer
from record.exit_codes import ExitCode

if TYPE_CHECKING:
    from command_line.commands.topology_source import TopologyRequest

app = typer.Typer(
    name="topology",
    help="Make, measure, draw and check overlays, without running anything.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    context_settings=HELP_OPTIONS,
)
app.add_typer(multicast.app)

SourceArgument = Annotated[
    str,
    typer.Argument(
        metavar="SOURCE",
        help="A kind (`brokerlab topology kinds` lists them), a paper's topology such as octopia-s-e, "
        "a scenario (.yaml), an overlay (.json, .graphml) or a latency matrix (.csv).",
        show_default=False,
    ),
]
SettingsArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[FIELD=VALUE]...", help="Fields of the topology section, as in a scenario.", show_default=False
    ),
]
SeedOption = Annotated[
    int | None,
    typer.Option(min=0, help="Seed of all random choices; the scenario's own or 0 by default.", show_default=False),
]
NameOption = Annotated[str | None, typer.Option(help="Name of the overlay.", show_default=False)]
VariantOption = Annotated[
    str | None, typer.Option(help="Variant of a scenario whose variants differ in topology.", show_default=False)
]

AtOption = Annotated[
    float | None,
    typer.Option(
        min=0,
        metavar="SECONDS",
        help="Time since the start of the join phase, for a scenario with `motion`; its start by default.",
        show_default=False,
    ),
]

_MAKE_EXAMPLES = (
    "brokerlab topology make cyclic brokers=30 degree=4 link.delay=2ms..10ms --seed 7 --out overlay.json",
    'brokerlab topology make scot clusters=3 "acyclic=[[a,b],[b,c]]" --out scot.graphml',
    "brokerlab topology make octopia-s-e --out s-e.json",
    "brokerlab topology make planetlab --out latencies.csv",
    "brokerlab topology make latencies.csv overlay=mst --out cbf-tree.json",
    "brokerlab topology make scenarios/cyclic-30.yaml brokers=50",
)
_SHOW_EXAMPLES = (
    "brokerlab topology show random-regular brokers=100 degree=3",
    "brokerlab topology show runs/20260131T235959Z-quickstart/topology.json",
    "brokerlab topology show scenarios/quickstart.yaml --json",
)
_DRAW_EXAMPLES = (
    "brokerlab topology draw octopia-s-e --out s-e.svg",
    "brokerlab topology draw planetlab overlay=nearest nearest=2 --out planetlab.html",
)
_CHECK_EXAMPLES = (
    "brokerlab topology check overlay.json",
    "brokerlab topology check latencies.csv unit=rtt_ms --limit 3",
    "brokerlab topology check latencies.csv --strict",
)
_KINDS_EXAMPLES = (
    "brokerlab topology kinds",
    "brokerlab topology kinds transit-stub",
    "brokerlab topology kinds gryphon-failure",
)


@app.command(epilog=epilog(*_MAKE_EXAMPLES, codes={ExitCode.CORRECT: "made"} | BAD_INPUT))
def make(
    source: SourceArgument,
    settings: SettingsArgument = None,
    *,
    seed: SeedOption = None,
    name: NameOption = None,
    variant: VariantOption = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="An overlay as .json or .graphml, the delays between all brokers as .csv, or the changes of a "
            "scenario with `motion` as .jsonl; JSON to the terminal without it.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Make an overlay, or a matrix of the delays between its brokers."""
    from command_line.commands import topology as commands

    raise typer.Exit(commands.make(_request(source, settings, seed, name, variant), out))


@app.command(epilog=epilog(*_SHOW_EXAMPLES, codes={ExitCode.CORRECT: "printed"} | BAD_INPUT))
def show(
    source: SourceArgument,
    settings: SettingsArgument = None,
    *,
    seed: SeedOption = None,
    variant: VariantOption = None,
    at: AtOption = None,
    json: Annotated[
        bool, typer.Option("--json", help="Print JSON: all brokers and links by name, delays in s.")
    ] = False,
) -> None:
    """Print sizes, degrees, diameter, mean path length, articulation points, bridges and delays."""
    from command_line.commands import topology as commands

    request = replace(_request(source, settings, seed, None, variant), at=at)
    raise typer.Exit(commands.show_json(request) if json else commands.show(request))


@app.command(epilog=epilog(*_DRAW_EXAMPLES, codes={ExitCode.CORRECT: "drawn"} | BAD_INPUT))
def draw(
    source: SourceArgument,
    settings: SettingsArgument = None,
    *,
    seed: SeedOption = None,
    variant: VariantOption = None,
    at: AtOption = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="A file that ends in .svg or .html; the overlay's name and .svg by default.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Draw an overlay, or a moment of a changing one, as SVG or as a self-contained HTML page."""
    from command_line.commands import topology as commands

    request = replace(_request(source, settings, seed, None, variant), at=at)
    raise typer.Exit(commands.draw(request, out))


@app.command(epilog=epilog(*_CHECK_EXAMPLES, codes={ExitCode.CORRECT: "nothing is wrong"} | BAD_INPUT))
def check(
    source: SourceArgument,
    settings: SettingsArgument = None,
    *,
    seed: SeedOption = None,
    variant: VariantOption = None,
    limit: Annotated[int, typer.Option(min=0, help="Number of findings of each sort to print.")] = 10,
    strict: Annotated[bool, typer.Option("--strict", help="Treat warnings as bad input.")] = False,
    json: JsonOption = False,
) -> None:
    """Check an overlay or a latency matrix: connected, within bounds, no missing delays; warn of oddities."""
    from command_line.commands import topology as commands
    from topology.inspection import Severity

    refused = frozenset(Severity if strict else (Severity.ERROR,))
    with answer(json) as form:
        raise typer.Exit(commands.check(_request(source, settings, seed, None, variant), refused, limit, form))


@app.command(epilog=epilog(*_KINDS_EXAMPLES, codes={ExitCode.CORRECT: "printed"} | BAD_INPUT))
def kinds(
    kind: Annotated[
        str | None, typer.Argument(help="A kind, to see its fields, or a paper's topology.", show_default=False)
    ] = None,
    *,
    json: JsonOption = False,
) -> None:
    """List the kinds of topology and the papers' topologies, or the fields of one."""
    from command_line.commands import topology as commands

    with answer(json) as form:
        raise typer.Exit(commands.list_kinds(kind, form))


def _request(
    source: str, settings: list[str] | None, seed: int | None, name: str | None, variant: str | None
) -> TopologyRequest:
    from command_line.commands.topology_source import TopologyRequest

    return TopologyRequest(source, tuple(settings or ()), seed, name, variant)
