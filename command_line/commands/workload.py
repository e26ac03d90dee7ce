"""`brokerlab workload`: the load that a scenario or a table of operations makes, without a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from pydantic import ValidationError
from rich.console import Console
from rich.table import Table
from rich.text import Text

from analysis.report.sentences.load import loads_beside
from broker_service.routing import PROTOCOLS
from record.errors import BadInputError
from record.exit_codes import ExitCode
from record.load import Load
from record.time_units import SECOND
from scenario.loading import load
from scenario.model import Scenario
from scenario.sections.messages import describe
from scenario.sections.units import DURATION, SHORTEST_TIME
from scenario.sections.workload import FileWorkload
from scenario.sections.workload.file import FORMATS
from scenario.shipped import file_of
from scenario.workload.file.contents import contents_of
from scenario.workload.generate import generate
from scenario.workload.load_sketch import LoadSketch
from scenario.yaml_files.fields import dotted, set_field
from scenario.yaml_files.source import parse_setting

Show = Callable[[Sequence[Load]], None]


def show_workload(file: Path, settings: Mapping[str, str], show: Show) -> ExitCode:
    """Shows the load of each variant of a scenario, or of a table. Raises `BadInputError`."""
    scenario = _of_table(file, settings) if file.suffix in FORMATS else load(file_of(file, "scenario"), settings)
    show([_load(variant.name, variant.scenario) for variant in scenario.variants()])
    return ExitCode.CORRECT


def as_table(loads: Sequence[Load]) -> None:
    """Prints a row for each measure, and a column for each variant where they differ."""
    rows = loads_beside(loads)
    several = len(rows[0][1]) > 1
    table = Table(box=None, pad_edge=False, show_header=several)
    table.add_column("", no_wrap=True)
    for each in loads if several else loads[:1]:
        table.add_column(Text(each.variant))
    for label, values in rows:
        table.add_row(Text(label), *map(Text, values))
    Console(highlight=False).print(table)


def as_json(loads: Sequence[Load]) -> None:
    """Prints a list with an object for each variant."""
    print(msgspec.json.format(msgspec.json.encode(loads)).decode())


def _load(name: str, scenario: Scenario) -> Load:
    timeline = scenario.timeline
    sketch = LoadSketch(name, join=timeline.join, run=timeline.run)
    for operation in generate(scenario, scenario.overlay()).operations():
        sketch.add(operation)
    return sketch.load()


def _of_table(file: Path, settings: Mapping[str, str]) -> Scenario:
    """A scenario that plays a whole table once. Raises `BadInputError`."""
    data: dict[str, Any] = {"kind": "file", "operations": str(file.absolute())}
    for path, text in settings.items():
        try:
            set_field(data, path, parse_setting(f"--set {path}", text))
        except ValueError as error:
            raise BadInputError(f"--set {path}={text}: {error}") from error
    try:
        section = FileWorkload.model_validate(data)
    except ValidationError as error:
        lines = [f"--set {dotted(found.path)}: {found.message}" for found in describe(error, data)]
        raise BadInputError("\n".join(lines)) from error
    contents = contents_of(section)
    if contents.mistakes:
        raise BadInputError("\n".join(contents.mistakes))
    run = max((contents.ends - contents.begins) / SECOND / section.speed, 0.0) + SHORTEST_TIME
    if DURATION.most is not None and run > DURATION.most:
        raise BadInputError(f"{file}: its times span {run:,.0f} s; is `unit` right? --set unit=ms, or --set speed=1000")
    return Scenario.model_validate(
        {
            "name": "table",
            "topology": {"kind": "line", "brokers": 1},
            "routing": {"protocol": next(iter(PROTOCOLS))},
            "workload": section.model_dump(mode="json", exclude_none=True),
            "timeline": {"join": "1s", "run": DURATION.format(round(run, 3))},
        }
    )
