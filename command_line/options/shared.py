"""Arguments and options of several commands."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from analysis.tables.event_choice import EventTable
from command_line.completions import campaign_names, run_names, scenario_names
from record.errors import BadInputError

if TYPE_CHECKING:
    from command_line.commands.answers import Answer

ScenarioArgument = Annotated[
    Path,
    typer.Argument(
        help="The scenario's YAML file, or the name of a shipped one (`brokerlab examples`).",
        autocompletion=scenario_names,
    ),
]

CampaignArgument = Annotated[
    Path,
    typer.Argument(
        help="The campaign's YAML file, or the name of a shipped one (`brokerlab examples`).",
        autocompletion=campaign_names,
    ),
]


def stored_run(given: str) -> Path:
    """The run that `brokerlab runs` lists by this name, or a path."""
    from analysis.run_files.stored import run_of  # noqa: PLC0415 - `brokerlab --help` need not load it

    return run_of(given) or Path(given)


RunArgument = Annotated[
    Path,
    typer.Argument(
        metavar="RUN",
        help="A run: its directory, or `latest`, a scenario's name, the beginning of its name (`brokerlab runs`).",
        parser=stored_run,
        autocompletion=run_names,
    ),
]

RunsArgument = Annotated[
    list[Path],
    typer.Argument(
        metavar="RUN...",
        help="Analysed runs, each as `brokerlab runs` says.",
        parser=stored_run,
        autocompletion=run_names,
    ),
]


SparkOption = Annotated[
    bool | None,
    typer.Option(
        "--spark/--no-spark",
        help="Analyse in Spark, or in plain Python, which needs no Java; by default in Spark where it is installed.",
        show_default=False,
    ),
]

EventsOption = Annotated[
    EventTable,
    typer.Option("--events", help="Records that become rows of the table `events` (`brokerlab query`): all or none."),
]

SummaryOption = Annotated[
    Path | None,
    typer.Option("--summary-md", metavar="FILE", help="Also write the verdicts as Markdown.", show_default=False),
]


JsonOption = Annotated[
    bool,
    typer.Option("--json", help="Print one JSON document; what is for people goes to the standard error output."),
]

JunitOption = Annotated[
    Path | None,
    typer.Option("--junit", metavar="FILE", help="Also write the verdicts as JUnit XML.", show_default=False),
]

SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="KEY=VALUE", help="Set a field of every scenario; may be repeated.", show_default=False
    ),
]

JobsOption = Annotated[
    int | None,
    typer.Option(
        min=1, max=256, help="Number of simulations in parallel; that of CPUs by default.", show_default=False
    ),
]


def duration(option: str, text: str) -> float:
    """Seconds of a time with a unit. Raises `BadInputError`."""
    from scenario.sections.units import DURATION  # noqa: PLC0415 - `brokerlab --help` answers at once

    try:
        return DURATION.parse(text)
    except ValueError as error:
        raise BadInputError(f"{option} {text}: {error}") from error


_MASTER = re.compile(r"local(\[(\*|[1-9]\d*)(,\d+)?\])?|(spark|k8s|sc)://.+|yarn")


@contextmanager
def answer(json: bool) -> Iterator[Answer]:
    """The form of the answer that `--json` asks for.

    Until the context ends, a document has the standard output for itself. Whatever else prints is redirected, and not
    authors' code alone, because such code runs in many places: while a protocol is loaded, in its options, in routers,
    and in what libraries print for it.
    """
    from command_line.commands.answers import AsDocument, InWords  # noqa: PLC0415 - `brokerlab --help` answers at once

    if not json:
        yield InWords()
        return
    output = sys.stdout
    with redirect_stdout(sys.stderr):
        yield AsDocument(output)


def spark_master(name: str | None) -> str | None:
    """A valid name of a Spark master. Raises `BadInputError`, because Spark reports an invalid one late and in Java."""
    if name is not None and _MASTER.fullmatch(name) is None:
        raise BadInputError(
            f"--master {name}: write spark://HOST:PORT, or local[N] for N cores of this host, "
            "or sc://HOST:PORT for a server of Spark Connect"
        )
    return name


def overrides(settings: list[str] | None) -> dict[str, str]:
    """Values by key from `KEY=VALUE` texts, the last one for a repeated key. Raises `BadInputError`."""
    pairs = [setting.partition("=") for setting in settings or ()]
    for key, equals, value in pairs:
        if not (key.strip() and equals):
            raise BadInputError(f"--set {key}{equals}{value}: write KEY=VALUE, such as --set timeline.run=20s")
    return {key.strip(): value for key, _, value in pairs}
