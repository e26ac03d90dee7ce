"""The rows of a file as the operations of a run phase: from the first publication on, at the scenario's speed, and
again and again in a loop.

A run knows each advertisement and each subscription by an id of its own. One that the file makes again, or that is made
again because the file begins anew, has `~2`, `~3`, ... at the end of its id. When the file begins anew, what it
withdrew is made again and what it made is withdrawn, so that each time begins with what stood at the first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from broker_service.language import Advertisement, Publication
from broker_service.language.composite_subscription import CompositeSubscription
from broker_service.language.formatting import format_composite
from broker_service.language.records import predicate_record
from record.time_units import SECOND
from scenario.sections.workload.file import FileWorkload
from scenario.workload.file.contents import FileContents
from scenario.workload.file.rows import Declared, Row, RowReader
from scenario.workload.file.standing import Key, key_of
from scenario.workload.file.tables import TableError
from scenario.workload.operations import OperationKind, PlannedOperation
from scenario.workload.streams import numeric_stream
from scenario.yaml_files.errors import ScenarioError
from topology.link_properties import BrokerId

_DRAWN = 4_096
"""Random numbers that are drawn together."""


@dataclass(slots=True)
class Play:
    """One run phase of a file."""

    section: FileWorkload
    contents: FileContents
    homes: Mapping[str, BrokerId]
    window: int
    """Nanoseconds that a composite subscription waits which does not say how long."""
    seed: int
    _ids: dict[Key, str] = field(default_factory=dict)
    """The id by which the run knows what stands."""
    _made: dict[Key, int] = field(default_factory=dict)
    """The number of times that each was made."""
    _published: dict[str, int] = field(default_factory=dict)
    """The number of each client's publications."""

    def operations(self, begin: int, run: float) -> Iterator[PlannedOperation]:
        """The operations of a run phase that begins at `begin` (nanoseconds) and lasts `run` seconds."""
        lasts = round(run * SECOND)
        for row in self.contents.at_start:
            self._name(key_of(row))
        start, passes = 0, 0
        while start < lasts:
            if passes:
                yield from self._begun_anew(begin + start)
            for row in self._rows(passes):
                at = start + self._since(row.at)
                if at >= lasts:
                    break
                yield self.operation(row, begin + at)
            if not self.section.loop:
                return
            passes += 1
            start = round(passes * self.contents.course.period / self.section.speed)

    def operation(self, row: Row, at: int) -> PlannedOperation:
        """The operation of a row at a time of the run."""
        if isinstance(row.content, Publication):
            number = self._published[row.client] = self._published.get(row.client, 0) + 1
            return PlannedOperation(
                at=at,
                client=row.client,
                broker=self.homes[row.client],
                operation=OperationKind.PUBLISH,
                id=f"{row.client}:{number}",
                attributes=dict(row.content.attributes),
            )
        key = key_of(row)
        if row.content is None:
            return self._withdrawn(key, at)
        return declared(
            row.content,
            client=row.client,
            broker=self.homes[row.client],
            name=self._name(key),
            at=at,
            window=self.window,
        )

    def _since(self, at: int) -> int:
        return round((at - self.contents.begins) / self.section.speed)

    def _rows(self, passes: int) -> Iterator[Row]:
        """The rows that are played, without those publications that the seed leaves out."""
        kept = _kept(self.section.share, self.seed, passes)
        try:
            for row in RowReader(self.section).rows(_changed):
                if row.number >= self.contents.played_from and (row.verb != "publish" or next(kept)):
                    yield row
        except TableError as error:
            raise ScenarioError(f"workload.operations: {self.section.file} {error}") from error

    def _begun_anew(self, at: int) -> Iterator[PlannedOperation]:
        """Restores what stood when the file began."""
        first = {key_of(row): row for row in self.contents.at_start}
        for key in [key for key in self._ids if key not in first]:
            yield self._withdrawn(key, at)
        for key, row in first.items():
            if key not in self._ids:
                yield self.operation(row, at)

    def _withdrawn(self, key: Key, at: int) -> PlannedOperation:
        client, advertised, _ = key
        return PlannedOperation(
            at=at,
            client=client,
            broker=self.homes[client],
            operation=OperationKind.UNADVERTISE if advertised else OperationKind.UNSUBSCRIBE,
            id=self._ids.pop(key),
        )

    def _name(self, key: Key) -> str:
        number = self._made[key] = self._made.get(key, 0) + 1
        name = self._ids[key] = key[2] if number == 1 else f"{key[2]}~{number}"
        return name


def declared(content: Declared, *, client: str, broker: BrokerId, name: str, at: int, window: int) -> PlannedOperation:
    """The operation that makes an advertisement or a subscription."""
    if isinstance(content, CompositeSubscription):
        return PlannedOperation(
            at=at,
            client=client,
            broker=broker,
            operation=OperationKind.COMPOSE,
            id=name,
            pattern=format_composite(content.pattern),
            within=window if content.within is None else content.within,
        )
    return PlannedOperation(
        at=at,
        client=client,
        broker=broker,
        operation=OperationKind.ADVERTISE if isinstance(content, Advertisement) else OperationKind.SUBSCRIBE,
        id=name,
        predicates=[predicate_record(predicate) for predicate in content.predicates],
    )


def _kept(share: float, seed: int, passes: int) -> Iterator[bool]:
    """For each publication of a pass in turn, True when it is made."""
    if share >= 1:
        while True:
            yield True
    rng = numeric_stream(seed, f"share:{passes}")
    while True:
        yield from (rng.random(_DRAWN) < share).tolist()


def _changed(number: int, _column: str, message: str) -> None:
    """Refuses a row of a file that was in order when it was checked."""
    raise TableError(f"has changed since it was checked: row {number}: {message}")
