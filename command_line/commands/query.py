"""`brokerlab query`: SQL over the tables of analysed runs, and the answer as a table, CSV, JSON or Parquet."""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from analysis.query import Answer, open_tables
from command_line.commands.answer_format import Format
from record.errors import BadInputError
from record.exit_codes import ExitCode

ROWS_SHOWN = 200
"""Rows of a table for people."""


_WIDTH = 10_000
"""Columns of output that is not a terminal, which is never folded."""


def query(runs: Sequence[Path], sql: str, form: Format) -> ExitCode:
    """Prints the answer. Raises `UserError`s."""
    if form is Format.PARQUET and sys.stdout.isatty():
        raise BadInputError("--format parquet: these bytes are for a file; add `> FILE`")
    with open_tables(runs) as database:
        _PRINTERS[form](database.answer(sql))
    return ExitCode.CORRECT


def _print_table(answer: Answer) -> None:
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for field in answer.schema:
        number = pa.types.is_integer(field.type) or pa.types.is_floating(field.type) or pa.types.is_decimal(field.type)
        table.add_column(Text(field.name), justify="right" if number else "left", overflow="fold")
    rows = _rows(answer)
    for row in islice(rows, ROWS_SHOWN):
        table.add_row(*(Text(_in_words(value)) for value in row))
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = _WIDTH
    console.print(table)
    if next(rows, None) is not None:
        console.print(f"The first {ROWS_SHOWN} rows; --format csv, json or parquet gives all of them.")


def _print_csv(answer: Answer) -> None:
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(answer.schema.names)
    for row in _rows(answer):
        writer.writerow(map(_in_words, row))


def _print_json(answer: Answer) -> None:
    """Prints one list with an object for each row, a line each."""
    separator = "[\n"
    for row in _rows(answer):
        line = msgspec.json.encode(dict(zip(answer.schema.names, row, strict=True)))
        sys.stdout.write(f"{separator}{line.decode()}")
        separator = ",\n"
    sys.stdout.write("[]\n" if separator == "[\n" else "\n]\n")


def _print_parquet(answer: Answer) -> None:
    with pq.ParquetWriter(sys.stdout.buffer, answer.schema) as writer:
        for batch in answer.batches:
            writer.write_batch(batch)


_PRINTERS: Mapping[Format, Callable[[Answer], None]] = {
    Format.TABLE: _print_table,
    Format.CSV: _print_csv,
    Format.JSON: _print_json,
    Format.PARQUET: _print_parquet,
}


def _rows(answer: Answer) -> Iterator[tuple[Any, ...]]:
    for batch in answer.batches:
        columns = ([_number(value) for value in column.to_pylist()] for column in batch.columns)
        yield from zip(*columns, strict=True)


def _number(value: Any) -> Any:
    """The value; a decimal number, which DuckDB makes of a sum of integers, too, as an integer or a float."""
    if not isinstance(value, Decimal):
        return value
    return int(value) if value == value.to_integral_value() else float(value)


def _in_words(value: Any) -> str:
    """A value as text: lists and structs as JSON, floats with as many digits as they need; nothing for null."""
    if value is None or isinstance(value, str):
        return value or ""
    return str(value) if isinstance(value, int | float) else msgspec.json.encode(value).decode().strip('"')
