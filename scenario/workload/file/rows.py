"""Rows of a table as operations: each cell understood on its own, in the order of the file.

What an operation may do depends on those before it, which `contents` looks at.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from math import isfinite
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from broker_service.language import CLASS, Advertisement, ContentError, Publication, Subscription, Value
from broker_service.language.composite_subscription import CompositeSubscription
from broker_service.language.notation import (
    parse_advertisement,
    parse_composite,
    parse_publication,
    parse_subscription,
)
from record.time_units import SECOND
from scenario.sections.section import suggestion
from scenario.sections.workload.file import FileWorkload
from scenario.sections.workload.operations import VERBS, Verb
from scenario.workload.file.tables import SCALES, Cells, Table, TableError, number_in, open_table
from scenario.yaml_files.scalars import shortened

_CLIENT: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}", re.ASCII)
_LONGEST_ID: Final = 64
_LATEST: Final = 1 << 62
"""Nanoseconds since 1970 or since any other beginning, at most."""

Declared = Advertisement | Subscription | CompositeSubscription
Refuse = Callable[[int, str, str], None]
"""Called with the number of a row that is no operation, the column at fault ("" for none), and the mistake with its
remedy."""


class Row(NamedTuple):
    """One operation of the file."""

    number: int
    at: int
    """Nanoseconds since some beginning that all rows share."""
    client: str
    broker: str | None
    verb: Verb
    id: str | None
    content: Publication | Declared | None
    """Empty for a withdrawal."""


class RowError(Exception):
    """A cell that cannot be understood: the column, and the mistake with its remedy."""

    def __init__(self, column: str, message: str) -> None:
        super().__init__(message)
        self.column = column


@dataclass(slots=True)
class RowReader:
    """Reads the rows of one workload's file. Raises `TableError` when it is made of a file that lacks a column."""

    section: FileWorkload
    table: Table = field(init=False)
    _names: dict[str, str] = field(init=False)
    """The column of each field that the file has."""
    _scale: int = field(init=False)
    """Nanoseconds of a unit of time."""
    _window_scale: int = field(init=False)
    _clients: dict[object, str] = field(init=False, default_factory=dict)
    _verbs: dict[str, Verb] = field(init=False)
    _textual: bool = field(init=False)
    """True where all cells are text, because the file is a CSV table."""
    _numbers: dict[str, bool] = field(init=False, default_factory=dict)
    """True for each column of a CSV table whose first cell is a number."""

    def __post_init__(self) -> None:
        section = self.section
        self.table = open_table(Path(section.file))
        self._names = _columns(section, self.table)
        self._textual = section.file.endswith(".csv")
        self._scale = self.table.time_scale(section.columns.time) or SCALES[section.unit]
        self._window_scale = SCALES[section.unit]
        self._verbs = {verb: verb for verb in VERBS} | section.words

    def rows(self, refuse: Refuse) -> Iterator[Row]:
        """All operations, without those rows that are refused."""
        fields = list(self._names)
        attributes = list(self.section.attributes.items())
        names = [*self._names.values(), *(column for _, column in attributes)]
        has = {name: fields.index(name) for name in fields}
        former = -_LATEST
        for number, cells in self.table.rows(names):
            try:
                row = self._row(number, cells, has, attributes)
                if row.at < former:
                    raise RowError(
                        self.section.columns.time, f"{_shown(cells[0])} is before the row above; sort the file by time"
                    )
            except RowError as error:
                refuse(number, error.column, str(error))
                continue
            former = row.at
            yield row

    def _row(self, number: int, cells: Cells, has: Mapping[str, int], attributes: list[tuple[str, str]]) -> Row:
        columns = self._names
        verb: Verb = "publish" if "operation" not in has else self._verb(cells[has["operation"]])
        return Row(
            number=number,
            at=self._moment(cells[0]),
            client=self._clients.get(cells[1]) or self._client(cells[1]),
            broker=None if "broker" not in has else _text(cells[has["broker"]], columns["broker"]),
            verb=verb,
            id=None if "id" not in has else self._id(cells[has["id"]]),
            content=self._content(verb, cells, has, attributes),
        )

    def _moment(self, cell: object) -> int:
        if isinstance(cell, int) and not isinstance(cell, bool):
            at = cell * self._scale
        else:
            at = _nanoseconds(cell, self._scale, self.section.columns.time)
        if not -_LATEST < at < _LATEST:
            raise RowError(self.section.columns.time, f"{_shown(cell)} is out of reach; state its `unit`")
        return at

    def _client(self, cell: object) -> str:
        column = self.section.columns.client
        name = _text(cell, column)
        if _CLIENT.fullmatch(name) is None:
            raise RowError(
                column, f"{_shown(name)} is not a client's name; use letters, digits and _.- (a letter or digit first)"
            )
        self._clients[cell] = name
        return name

    def _verb(self, cell: object) -> Verb:
        verb = self._verbs.get(cell) if isinstance(cell, str) else None
        if verb is None:
            known = suggestion(str(cell), self._verbs)
            raise RowError(self._names["operation"], f"{_shown(cell)} is no operation and none of `words`{known}")
        return verb

    def _id(self, cell: object) -> str | None:
        if cell is None:
            return None
        text = _text(cell, self._names["id"])
        if len(text) > _LONGEST_ID:
            raise RowError(self._names["id"], f"an id of {len(text)} characters; it takes {_LONGEST_ID} at most")
        return text

    def _content(
        self, verb: Verb, cells: Cells, has: Mapping[str, int], attributes: list[tuple[str, str]]
    ) -> Publication | Declared | None:
        if verb in ("unsubscribe", "unadvertise"):
            return None
        if verb == "publish" and attributes:
            return self._publication(cells[len(has) :], attributes)
        column = self._names.get("content")
        if column is None:
            raise RowError("", f"there is no column `content` with what is meant by {verb}; name it in `columns`")
        cell = cells[has["content"]]
        try:
            if verb == "publish":
                return self._written_publication(cell)
            within = None if "within" not in has else cells[has["within"]]
            return self._declared(verb, _text(cell, column), within)
        except ContentError as error:
            raise RowError(column, str(error)) from error

    def _publication(self, cells: Cells, attributes: list[tuple[str, str]]) -> Publication:
        """The publication in columns of its own."""
        content: dict[str, Value] = dict(self.section.constants)
        for (name, column), cell in zip(attributes, cells, strict=True):
            if cell is not None:
                content[name] = self._value(column, cell) if self._textual else cell  # type: ignore[assignment]
        try:
            return Publication(content)
        except ContentError as error:
            raise RowError(self._blamed(content, attributes), str(error)) from error

    def _value(self, column: str, cell: object) -> Value:
        text = str(cell)
        numeric = self._numbers.get(column)
        if numeric is False:
            return text
        number = number_in(text)
        if numeric is None:
            self._numbers[column] = number is not None
        elif number is None:
            raise RowError(column, f"{_shown(text)} is not a number, and the column's first cell is one")
        return text if number is None else number

    def _written_publication(self, cell: object) -> Publication:
        if isinstance(cell, str) and not cell.lstrip().startswith("{"):
            content = dict(parse_publication(cell).attributes)
        else:
            if isinstance(cell, str):
                try:
                    cell = msgspec.json.decode(cell)
                except msgspec.MsgspecError as error:
                    raise RowError(self._names["content"], f"no object of JSON: {error}") from error
            if not isinstance(cell, dict):
                raise RowError(self._names["content"], f"{_shown(cell)} is not the content of a publication")
            content = {name: value for name, value in cell.items() if value is not None}
        return Publication({**self.section.constants, **content})

    def _declared(self, verb: Verb, text: str, within: object) -> Declared:
        if verb == "advertise":
            return parse_advertisement(text)
        if verb == "subscribe":
            return parse_subscription(text)
        window = None if within is None else _nanoseconds(within, self._window_scale, self._names["within"])
        if window is not None and window < 0:
            raise RowError(self._names["within"], f"{_shown(within)} is less than 0")
        return CompositeSubscription(parse_composite(text), window)

    def _blamed(self, content: Mapping[str, Value], attributes: list[tuple[str, str]]) -> str:
        """The column of the first attribute without which the content would be right, or that of the class."""
        for name, column in attributes:
            try:
                Publication({CLASS: "", name: content.get(name, "")})
            except ContentError:
                return column
        return dict(attributes).get(CLASS, "")


def _columns(section: FileWorkload, table: Table) -> dict[str, str]:
    """The column of each field that the file has, time and client first. Raises `TableError` for one that it lacks."""
    columns = section.columns
    named = {"time": columns.time, "client": columns.client}
    for name in ("operation", "id", "content", "broker", "within"):
        given = getattr(columns, name)
        if given is not None or name in table.columns:
            named[name] = name if given is None else given
    if section.placement is not None:
        named.pop("broker", None)
    for place, column in [
        *((f"columns.{name}", column) for name, column in named.items()),
        *((f"attributes.{name}", column) for name, column in section.attributes.items()),
    ]:
        if column not in table.columns:
            raise TableError(f"has no column {column!r} ({place}){suggestion(column, table.columns)}")
    return named


def _text(cell: object, column: str) -> str:
    if cell is None:
        raise RowError(column, "is empty")
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return str(cell)


def _nanoseconds(cell: object, scale: int, column: str) -> int:
    """A time in a cell that is not an integer."""
    if isinstance(cell, str) and (number := number_in(cell.strip())) is not None:
        cell = number
    if isinstance(cell, int | float) and not isinstance(cell, bool) and isfinite(cell):
        return round(cell * scale)
    try:
        moment = datetime.fromisoformat(str(cell).strip()) if isinstance(cell, str) else None
    except ValueError:
        moment = None
    if moment is None:
        raise RowError(
            column,
            "is empty" if cell is None else f"{_shown(cell)} is not a time; write a number, or 2026-01-31T23:59:59",
        )
    passed = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - datetime(1970, 1, 1, tzinfo=UTC)
    return (passed.days * 86_400 + passed.seconds) * SECOND + passed.microseconds * 1_000


def _shown(value: object) -> str:
    return shortened(repr(value))
