"""The contents of a file of operations, checked and summed up in one pass.

Kept in memory are clients, advertisements and subscriptions, and a few publications; the others pass by.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from broker_service.language import Advertisement, Publication
from broker_service.language.composite_subscription import CompositeSubscription
from broker_service.language.content import conforms
from scenario.sections.workload.file import FileWorkload
from scenario.sections.workload.kind import MOST_SUBSCRIPTIONS
from scenario.workload.file.advertised import PublishedContent
from scenario.workload.file.rows import Row, RowError, RowReader
from scenario.workload.file.standing import Key, Standing, StandingError, key_of
from scenario.workload.file.tables import TableError

_SAMPLED = 2_000
"""Publications that are kept."""
_SHOWN = 5
"""Mistakes after which reading stops."""
_LANDMARKS = 4_096
"""Publications whose times are kept at most."""
_READ_WITH = {"kind", "file", "columns", "attributes", "constants", "words", "unit", "loop", "placement"}
"""Fields that decide what is in the file."""


@dataclass(slots=True)
class Course:
    """The times of publications, of which every so many-th is kept, so that parts of the file can be counted."""

    count: int = 0
    first: int = 0
    last: int = 0
    _every: int = 1
    _times: list[int] = field(default_factory=list)

    def add(self, at: int) -> None:
        """Adds a publication at the time `at`, which must not be earlier than the one added last."""
        if self.count == 0:
            self.first = at
        if self.count % self._every == 0:
            self._times.append(at)
            if len(self._times) > _LANDMARKS:
                del self._times[1::2]
                self._every *= 2
        self.last = at
        self.count += 1

    def before(self, at: int) -> int:
        """The number of publications before a time, to within the distance of those that are kept."""
        if at > self.last:
            return self.count
        return min(bisect_left(self._times, at) * self._every, self.count)

    @property
    def period(self) -> int:
        """Nanoseconds after which the file begins anew in a loop: to the last publication, and a mean gap."""
        span = self.last - self.first
        return span + (round(span / (self.count - 1)) if self.count > 1 else 0)


@dataclass(slots=True)
class FileContents:
    """Clients, publications and all else in a file that was read to its end, or until its first mistakes."""

    mistakes: list[str] = field(default_factory=list)
    """Sentences that begin with the place in the file."""
    homes: dict[str, str | None] = field(default_factory=dict)
    """The clients in the order of their first rows, with the broker that the file gives them."""
    publishing: dict[str, PublishedContent | None] = field(default_factory=dict)
    """Clients that advertise or publish; with the content of those that the file has no advertisement of."""
    subscribing: dict[str, None] = field(default_factory=dict)
    at_start: tuple[Row, ...] = ()
    """The rows of the advertisements and subscriptions that stand when the first publication is made."""
    played_from: int = 0
    """The number of the row that is played first."""
    begins: int = 0
    """The time of that row, nanoseconds."""
    ends: int = 0
    """The time of the last row."""
    withdrawn: set[Key] = field(default_factory=set)
    """Advertisements and subscriptions that the file withdraws from that row on."""
    later: dict[str, int] = field(default_factory=dict)
    """Operations other than publications from that row on, by verb."""
    course: Course = field(default_factory=Course)
    sample: list[Publication] = field(default_factory=list)
    """The first publications."""
    composites: list[Row] = field(default_factory=list)

    def derived(self) -> dict[str, Advertisement]:
        """The advertisements of publishers of whom the file has none."""
        return {
            client: Advertisement(tuple(content.predicates()))
            for client, content in self.publishing.items()
            if content is not None
        }


class _TooManyError(Exception):
    """There are more mistakes than are shown."""


class _Pass:
    """The one pass over the rows of a file."""

    def __init__(self, section: FileWorkload) -> None:
        self._section = section
        self._name = Path(section.file).name
        self._standing = Standing()
        self.contents = FileContents()

    def run(self) -> FileContents:
        contents = self.contents
        try:
            reader = RowReader(self._section)
            for row in reader.rows(self._refuse):
                try:
                    self._take(row)
                except (RowError, StandingError) as error:
                    self._refuse(row.number, getattr(error, "column", ""), str(error))
        except TableError as error:
            contents.mistakes.append(f"{self._name} {error}")
        except _TooManyError:
            contents.mistakes.append(f"{self._name}: reading stopped there; mend these first")
        else:
            self._end()
        return contents

    def _refuse(self, number: int, column: str, message: str) -> None:
        place = f"{self._name}, row {number}" + (f", column {column}" if column else "")
        self.contents.mistakes.append(f"{place}: {message}")
        if len(self.contents.mistakes) >= _SHOWN:
            raise _TooManyError

    def _take(self, row: Row) -> None:
        contents = self.contents
        home = contents.homes.setdefault(row.client, row.broker)
        if home != row.broker:
            raise RowError("", f"{row.client} is at {home} in former rows and at {row.broker} here; it has one broker")
        contents.ends = row.at
        if isinstance(row.content, Publication):
            self._publish(row, row.content)
            return
        self._standing.take(row)
        if self._standing.declared > MOST_SUBSCRIPTIONS:
            raise RowError("", f"more than {MOST_SUBSCRIPTIONS:,} advertisements and subscriptions; share them out")
        if contents.course.count:
            contents.later[row.verb] = contents.later.get(row.verb, 0) + 1
            if row.content is None:
                contents.withdrawn.add(key_of(row))
        if isinstance(row.content, CompositeSubscription):
            contents.composites.append(row)
        if row.verb == "advertise":
            content = contents.publishing.setdefault(row.client, None)
            if content is not None:
                raise RowError(
                    "", f"{row.client} advertises here and has published in row {content.first_row}; advertise first"
                )
        elif row.verb in ("subscribe", "composite"):
            contents.subscribing[row.client] = None

    def _publish(self, row: Row, publication: Publication) -> None:
        contents = self.contents
        if not contents.course.count:
            self._begin(row)
        contents.course.add(row.at)
        if len(contents.sample) < _SAMPLED:
            contents.sample.append(publication)
        if row.client not in contents.publishing:
            contents.publishing[row.client] = PublishedContent(row.number)
        content = contents.publishing[row.client]
        if content is not None:
            if (odd := content.add(publication)) is not None:
                column = self._section.attributes.get(odd, "")
                raise RowError(column, f"{odd!r} is text in some rows of {row.client} and a number in others")
            return
        advertised = self._standing.advertisements(row.client)
        if not any(conforms(publication, one) for one in advertised):
            raise RowError("", _unadvertised(row.client, publication, advertised))

    def _begin(self, row: Row) -> None:
        contents = self.contents
        contents.at_start = self._standing.rows()
        contents.played_from, contents.begins = row.number, row.at

    def _end(self) -> None:
        contents = self.contents
        if not contents.homes and not contents.mistakes:
            contents.mistakes.append(f"{self._name} has no rows")
        elif not contents.course.count and not contents.mistakes:
            contents.mistakes.append(f"{self._name} has no publication, with the first of which the run phase begins")
        if self._section.loop and contents.course.count and contents.course.period <= 0:
            contents.mistakes.append(f"{self._name}: `loop` needs publications at two different times")


def _unadvertised(client: str, publication: Publication, advertised: Collection[Advertisement]) -> str:
    """The reason why a publication conforms to none of its client's advertisements."""
    if not advertised:
        return f"{client} has withdrawn all that it advertised; it may not publish"
    unknown = [name for name in publication.attributes if not any(name in one.by_attribute for one in advertised)]
    if unknown:
        return f"unknown attribute {unknown[0]!r}: no advertisement of {client} has it; advertise it, or leave it out"
    return f"conforms to no advertisement of {client} that stands; advertise what it publishes"


def contents_of(section: FileWorkload) -> FileContents:
    """The contents of a section's file, read once for all variants as long as the file stays as it is."""
    path = Path(section.file)
    try:
        found = path.stat()
        stamp = (found.st_size, found.st_mtime_ns)
    except OSError:
        stamp = (0, 0)
    return _contents(section.model_dump_json(include=_READ_WITH, exclude_none=True), stamp)


@lru_cache(maxsize=2)
def _contents(described: str, _stamp: tuple[int, int]) -> FileContents:
    return _Pass(FileWorkload.model_validate_json(described)).run()
