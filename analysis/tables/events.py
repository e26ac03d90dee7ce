"""The table `events`: every record of the logs as a row, with a column for each field of a record.

The columns are made from the fields of `record.log.TraceRecord`, so that a new field of the log is a new column. It is
a directory of Parquet files, divided by variant and by kind of event:
`results/events/variant=fixed/event=received/part-000001.parquet`. A reader of one kind of event opens the files of
that kind alone, and `variant` and `event` are columns that it takes from the path.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final
from urllib.parse import quote

import pyarrow as pa
from msgspec import inspect

from record.log import TraceRecord

EVENTS: Final = "events"
"""The name of the table, and of its directory in `results/`."""
PATH_COLUMNS: Final = ("variant", "event")
"""The columns that are in the path of a file instead of in it."""
TIME: Final = "time"
RUN_TIME: Final = "run_time"
LOG_PLACE: Final = "log_place"
ADDED_COLUMNS: Final = {
    RUN_TIME: "`time` by the run's clock: before the `time_dilation` of the scenario is taken out; nanoseconds.",
    LOG_PLACE: "The byte of the node's log at which the record begins, by which records of one time are in order.",
}
"""The columns that belong to no field of a record, with their meaning: integers, never null."""
_IDENTIFIERS = frozenset({"id"})
"""Texts that are nearly all distinct. Every other text is a name that repeats, and is stored once in a file."""


@dataclass(frozen=True, slots=True)
class EventColumn:
    """A column of the table."""

    name: str
    type: pa.DataType
    nullable: bool
    encoded: bool
    """True where the values are JSON text, which a query decodes where it needs them: contents of messages."""
    repeats: bool
    """True for names, which a file holds once, in a dictionary."""


@cache
def event_columns() -> tuple[EventColumn, ...]:
    """The columns that belong to fields of a record, in the order of the fields.

    Raises `TypeError` for a field of a type that has no column.
    """
    described = inspect.type_info(TraceRecord)
    if not isinstance(described, inspect.StructType):
        raise TypeError("a record of the log is no struct")
    return tuple(map(_column, described.fields))


@cache
def event_schema() -> pa.Schema:
    """The columns of a file of the table: those added come after `time`; those of the path are left out."""
    fields = [
        pa.field(column.name, column.type, column.nullable)
        for column in event_columns()
        if column.name not in PATH_COLUMNS
    ]
    after = next(number for number, field in enumerate(fields, 1) if field.name == TIME)
    added = [pa.field(name, pa.int64(), False) for name in ADDED_COLUMNS]
    return pa.schema([*fields[:after], *added, *fields[after:]])


def names_that_repeat() -> list[str]:
    """The columns of a file whose values are stored in a dictionary."""
    return [column.name for column in event_columns() if column.repeats and column.name not in PATH_COLUMNS]


def event_partition(values: Sequence[str]) -> str:
    """The folder of the rows of a variant and a kind of event, given in this order."""
    named = (f"{column}={quote(value, safe='')}" for column, value in zip(PATH_COLUMNS, values, strict=True))
    return "/".join((EVENTS, *named))


def _column(field: inspect.Field) -> EventColumn:
    members = field.type.types if isinstance(field.type, inspect.UnionType) else (field.type,)
    present = [member for member in members if not isinstance(member, inspect.NoneType)]
    if len(present) != 1:
        raise TypeError(f"{field.name}: a column has one type, not {present}")
    name, nullable = field.encode_name, len(present) < len(members)
    match present[0]:
        case inspect.IntType():
            return EventColumn(name, pa.int64(), nullable, encoded=False, repeats=False)
        case inspect.StrType():
            return EventColumn(name, pa.string(), nullable, encoded=False, repeats=name not in _IDENTIFIERS)
        case inspect.EnumType():
            return EventColumn(name, pa.string(), nullable, encoded=False, repeats=True)
        case inspect.ListType(item_type=inspect.StrType()):
            return EventColumn(name, pa.list_(pa.string()), nullable, encoded=False, repeats=False)
        case inspect.DictType() | inspect.StructType() | inspect.ListType(item_type=inspect.StructType()):
            return EventColumn(name, pa.string(), nullable, encoded=True, repeats=False)
        case other:
            raise TypeError(f"{name}: no column type for {other}")
