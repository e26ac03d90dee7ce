"""The `workload` section of kind `file`: operations of clients from a table of the user's own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from broker_service.language import CLASS
from scenario.sections.section import FilePath, Section
from scenario.sections.units import PositiveShare
from scenario.sections.workload.kind import Placement, WorkloadKind
from scenario.sections.workload.operations import OperationItem, Verb

FORMATS = (".parquet", ".jsonl", ".csv")
"""Endings of the names of files that can be read."""

ColumnName = Annotated[str, Field(strict=True, min_length=1, max_length=256)]
AttributeName = Annotated[str, Field(strict=True, min_length=1, max_length=256)]


class FileColumns(Section):
    """Names of the file's columns. A column that is not named here is looked for under the field's own name."""

    time: ColumnName = "time"
    """Time of the operation, never before that of the row above: a number, a timestamp or text such as
    `2026-01-31T23:59:59.5`."""
    client: ColumnName = "client"
    """Name of the client that acts."""
    operation: ColumnName | None = None
    """The operation: `advertise`, `unadvertise`, `subscribe`, `unsubscribe`, `publish`, `composite`, or one of `words`.
    In a file without this column, every row is a publication."""
    id: ColumnName | None = None
    """The client's own name for the subscription or advertisement that the row makes or withdraws. One that is never
    withdrawn needs none."""
    content: ColumnName | None = None
    """Predicates of an advertisement or a subscription, or attributes of a publication, in PADRES notation; for
    publications also an object of JSON. Not read of a withdrawal."""
    broker: ColumnName | None = None
    """The client's broker, the same one in all its rows; without this column `placement` places the clients."""
    within: ColumnName | None = None
    """Longest time between the first and the last publication of a set that a composite subscription wants, in
    `unit`."""


class FileWorkload(WorkloadKind):
    """Timed operations of clients from a file, played from its first publication on when the run phase begins.

    Everything that stands in the file before that is made in the join phase, as other workloads make it.
    """

    kind: Literal["file"]
    file: FilePath = Field(alias="operations")
    """A table of operations, one a row: a `.parquet`, `.jsonl` or `.csv` file, relative to the scenario's directory."""
    columns: FileColumns = FileColumns()
    """Names of the columns: `{time: ts, client: who, operation: verb, id: key, content: body}`."""
    attributes: dict[AttributeName, ColumnName] = Field(default_factory=dict)
    """Columns that hold a publication's content, by attribute: `{symbol: sym, price: px}`. An empty cell is an
    attribute that the publication lacks."""
    constants: dict[AttributeName, str | int | float] = Field(default_factory=dict)
    """Attributes that all publications of the file have in addition to those in its rows: `{class: TRADE}`."""
    words: dict[str, Verb] = Field(default_factory=dict)
    """Words for operations in the file: `{ADD: subscribe, DEL: unsubscribe}`."""
    unit: Literal["s", "ms", "us", "ns"] = "s"
    """Unit of times that are numbers."""
    speed: Annotated[float, Field(gt=0, le=1e9)] = 1.0
    """Seconds of the file that are played in a second of the run phase."""
    loop: Annotated[bool, Field(strict=True)] = False
    """Plays the file again and again until the run phase ends. Each time begins with the subscriptions and
    advertisements with which the first began."""
    share: PositiveShare = 1.0
    """Share of the publications that are made, drawn by the seed; advertisements and subscriptions are all made."""
    placement: Placement | None = None
    """Brokers of the clients, in the order in which they appear in the file: `uniform` (at random), `spread` (a second
    round when all brokers have a client), or a list of brokers in turn. By default the file's column `broker` places
    them, or `uniform` where there is none."""

    besides: tuple[OperationItem, ...] | None = None
    """Operations in addition to those of the file, written like `operations` of other workloads."""

    @field_validator("file")
    @classmethod
    def _has_a_known_format(cls, file: str) -> str:
        if Path(file).suffix not in FORMATS:
            raise ValueError(f"{Path(file).name}: its name must end in one of {', '.join(FORMATS)}")
        return file

    @model_validator(mode="after")
    def _is_placed_once(self) -> FileWorkload:
        if self.columns.broker is not None and self.placement is not None:
            raise ValueError("`placement` and `columns.broker` both place the clients: leave one of them out")
        if both := set(self.attributes) & set(self.constants):
            raise ValueError(f"constants: {min(both)!r} is one of the `attributes` as well: leave one of them out")
        if self.attributes and CLASS not in {*self.attributes, *self.constants}:
            raise ValueError("every publication has a `class`: name its column in `attributes`, or give `constants`")
        return self

    @property
    def operations(self) -> tuple[OperationItem, ...]:
        """Operations written out in the scenario."""
        return self.besides or ()

    def with_operations(self, operations: Sequence[OperationItem]) -> Self:
        return self.model_copy(update={"besides": tuple(operations)})

    def publishers_on(self, brokers: int) -> int:
        return 0

    def subscribers_on(self, brokers: int) -> int:
        return 0
