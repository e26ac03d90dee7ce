"""Generator of docs/logs.md, docs/tables.md and docs/summary.md from the code that reads and writes logs.

`python -m tests.documentation.log_reference` writes them; a test compares them with what it would write, so that
neither can change alone.
"""

from __future__ import annotations

import ast
import inspect
import sys
import types
import typing
from collections.abc import Iterator
from enum import StrEnum
from functools import cache
from itertools import pairwise
from pathlib import Path

from msgspec import Struct, UnsetType
from msgspec.structs import fields

from analysis.judging import oracle
from analysis.judging.detections import oracle as detection_oracle
from analysis.judging.evidence import backlog
from analysis.judging.histories import history, settling
from analysis.run_files.logs import LogLoss
from analysis.tables import summary
from analysis.tables.broker_work import WorkFigures, WorkKind
from analysis.tables.budget import DelayParts
from analysis.tables.catalogue import PARTITIONED, TABLES
from analysis.tables.comparison import Comparison, RelievedLink
from analysis.tables.deliveries import Cause, Defect, Right
from analysis.tables.detections import DetectionDefect, DetectionFigures
from analysis.tables.events import ADDED_COLUMNS, event_columns
from analysis.tables.limits import LimitVerdict
from record import log as log_schema
from record.figures import DifferenceVerdict, FigureVerdict
from record.log import Event, PlaceCost, PlacementRecord, PredicateRecord, TraceRecord

_INTRODUCTION = """\
# Logs

<!-- Written by `python -m tests.documentation.log_reference`. Edit the docstrings it is made of. -->

A run directory holds `logs/<node>.jsonl`: one file for each broker, one for each driver (the process that runs
clients), and `emulator.jsonl` where faults were injected. `brokerlab analyze RUN` reads them and writes
`results/<table>.parquet` ([tables](tables.md)) and `summary.json` ([summary](summary.md)), replacing older ones. It
needs only the run directory and may be repeated at any time. It uses Spark on all processors, or on a
[cluster](analysis.md#clusters-and-stores) (`--master`); `--no-spark` runs the same stages in plain Python, without
Java. Both write the same. `brokerlab query RUN "SELECT ..."` answers questions about the tables and the logs
([ten of them](tables.md#ten-questions)).

## Log records

One JSON object a line, one line for each event of a message at a node. Fields that do not apply are left out. Lines are
flushed at least every 100 ms. A writer that was killed leaves a torn last line. Torn lines, and other lines that are
not records, are counted and do not stop the analysis.
"""

_TABLES = """\
# Tables

<!-- Written by `python -m tests.documentation.log_reference`. Edit the docstrings it is made of. -->

`brokerlab analyze RUN` makes them of the [logs](logs.md). `brokerlab query RUN "SELECT ..."` answers questions about
them ([ten of them](#ten-questions)).

Each table is one Parquet file, except those that grow with every message: they are directories of files, divided by
variant (`results/notifications.parquet/variant=fixed/part-000001.parquet`), which Spark, Arrow, pandas and DuckDB read
as one table, with the column `variant` taken from the path, where it is percent-encoded. Columns marked *nullable* may
be null. Times whose name ends in `_ns` are of the run's clock, in nanoseconds. `second` counts whole seconds from the
start of the variant's phase `run`, and is negative while clients still join. Delay counts from the intended time of a
publication, not from its sending, so that a driver or a broker that falls behind cannot hide it. All times are the
scenario's: with a `time_dilation` of 5, times of the logs are divided by 5.

Brokers may log the whole lives of a sample of publications only (the scenario's `logs.publications`; `sampled_logs` in
`summary.json`). Clients log everything, so deliveries and delays are exact. Of publication messages, counts, bytes and
mean waits in `messages`, `labels`, `links` and `matching` are estimates: those of the sample, times the number of
publications for each logged one. The greatest waits and queues there, and all of `router_work`, are of the sample
alone. In `notifications`, `queueing_ms` and `path` are null for other publications. `drops` are whole.
"""

_EVENTS = """\
## events, a directory

One row per record of the logs, less records of variants that are not in the manifest.

The logs as a table: `results/events/variant=fixed/event=received/part-000001.parquet`. Every field of `TraceRecord` is
a column of the same name and meaning, null where the record does not have it; `variant` and `event` are in the path.
Times and durations are the scenario's. Some columns are JSON text, which a query decodes where it needs it:
{encoded}.

`--events none` leaves the table out, where only verdicts are wanted. Campaigns and reproductions never write it.

| further column | type | meaning |
|---|---|---|
"""

_ORACLE = """\
# Verdicts and summary.json

<!-- Written by `python -m tests.documentation.log_reference`. Edit the docstrings it is made of. -->

`brokerlab analyze RUN` judges deliveries by the [logs](logs.md) and writes what it found, with figures of the
[tables](tables.md), into `summary.json`.

## The delivery verdict
"""

_DETECTION_ORACLE = """\
## The verdict on detections
"""

_SUMMARY = """\
## summary.json
"""


DOCS = Path(__file__).parents[2] / "docs"
_QUESTIONS = Path(__file__).with_name("log_questions.md")


def pages() -> dict[str, str]:
    """The pages by file name."""
    made = {"logs.md": _logs(), "tables.md": _tables(), "summary.md": _verdicts()}
    return {name: "\n".join(blocks).rstrip() + "\n" for name, blocks in made.items()}


def _logs() -> Iterator[str]:
    yield _INTRODUCTION
    yield from _members(Event, log_schema)
    for record in (TraceRecord, PredicateRecord, PlacementRecord, PlaceCost):
        yield from _struct(record, f"## {record.__name__}")


def _tables() -> Iterator[str]:
    yield _TABLES
    for name, row in TABLES.items():
        divided = ", a directory" if row in PARTITIONED else ""
        yield from _struct(row, f"## {name}{divided}")
    yield from _event_columns()
    for values in (Right, Defect, DetectionDefect, Cause, WorkKind):
        yield f"## {values.__name__}\n"
        yield (inspect.getdoc(values) or "") + "\n"
        yield from _members(values, sys.modules[values.__module__])
    yield _QUESTIONS.read_text(encoding="utf-8")


def _verdicts() -> Iterator[str]:
    yield _ORACLE
    yield (oracle.__doc__ or "").strip() + "\n"
    constants = ((settling, "ALLOWANCE_SECONDS"), (backlog, "HANDLING_SECONDS"), (history, "CUT_SHORT_SECONDS"))
    for module, constant in constants:
        yield f"- `{constant}` = {getattr(module, constant):g}: {_described(module)['', constant]}"
    yield ""
    yield _DETECTION_ORACLE
    yield (detection_oracle.__doc__ or "").strip() + "\n"
    yield _SUMMARY
    for part in _summary_parts():
        yield from _struct(part, f"### {part.__name__}")


def _event_columns() -> Iterator[str]:
    encoded = ", ".join(f"`{column.name}`" for column in event_columns() if column.encoded)
    yield _EVENTS.format(encoded=encoded).rstrip("\n")
    for name, meaning in ADDED_COLUMNS.items():
        yield f"| `{name}` | int | {meaning} |"
    yield ""


def _summary_parts() -> list[type[Struct]]:
    return [
        summary.Summary,
        LogLoss,
        summary.VariantSummary,
        summary.Delivery,
        summary.BestEffort,
        DetectionFigures,
        summary.Example,
        summary.Delay,
        FigureVerdict,
        summary.DelayBudget,
        DelayParts,
        summary.DelayWithoutContention,
        summary.KindMessages,
        summary.Matching,
        summary.SystemFigures,
        summary.SentBytes,
        WorkFigures,
        LimitVerdict,
        Comparison,
        DifferenceVerdict,
        RelievedLink,
    ]


def _members(values: type[StrEnum], module: types.ModuleType) -> Iterator[str]:
    yield "| value | meaning |"
    yield "|---|---|"
    for member in values:
        yield f"| `{member.value}` | {_cell(_described(module).get((values.__name__, member.name), ''))} |"
    yield ""


def _struct(struct: type[Struct], heading: str) -> Iterator[str]:
    yield heading + "\n"
    yield (inspect.getdoc(struct) or "") + "\n"
    yield "| field | type | meaning |"
    yield "|---|---|---|"
    hints = typing.get_type_hints(struct)
    for field in fields(struct):
        meaning = meaning_of(struct, field.name)
        yield f"| `{field.encode_name}` | {_type_name(hints[field.name])} | {_cell(meaning)} |"
    yield ""


def meaning_of(struct: type[Struct], name: str) -> str:
    """The description of a field in the class that declares it, which may be a base."""
    owner = next(owner for owner in struct.__mro__ if name in inspect.get_annotations(owner))
    return _described(sys.modules[owner.__module__]).get((owner.__name__, name), "")


def _type_name(hint: object) -> str:
    arguments = typing.get_args(hint)
    if UnsetType in arguments:
        return f"{' or '.join(_type_name(part) for part in arguments if part is not UnsetType)}, may be absent"
    if type(None) in arguments:
        present = [_type_name(argument) for argument in arguments if argument is not type(None)]
        return f"{' or '.join(present)}, nullable"
    origin = typing.get_origin(hint)
    if arguments[1:] == (...,):
        return f"list of {_type_name(arguments[0])}"
    if origin is not None:
        return f"{origin.__name__} of {', '.join(map(_type_name, arguments))}"
    return hint.__name__ if isinstance(hint, type) else str(hint)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


@cache
def _described(module: types.ModuleType) -> dict[tuple[str, str], str]:
    """The string after an assignment, by class (empty for the module) and name, as documentation tools read it."""
    tree = ast.parse(inspect.getsource(module))
    found = dict(_strings("", tree.body))
    for statement in tree.body:
        if isinstance(statement, ast.ClassDef):
            found |= dict(_strings(statement.name, statement.body))
    return found


def _strings(owner: str, body: list[ast.stmt]) -> Iterator[tuple[tuple[str, str], str]]:
    for statement, following in pairwise(body):
        match statement:
            case ast.AnnAssign(target=ast.Name(id=name)) | ast.Assign(targets=[ast.Name(id=name)]):
                pass
            case _:
                continue
        match following:
            case ast.Expr(value=ast.Constant(value=str(text))):
                yield (owner, name), text


if __name__ == "__main__":
    for name, text in pages().items():
        (DOCS / name).write_text(text, encoding="utf-8")
