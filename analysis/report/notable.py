"""Notifications that a reader asks about: the first ones with a defect, and the slowest, each with its journey.

The rates of clients come with them, because the logs are read once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

from analysis.query import Database
from analysis.run_files.run_directory import RunDirectory
from analysis.tables.deliveries import Defect
from analysis.tables.summary import Example, Summary
from analysis.trace import Chosen, Rate, Told, Wanted, WorstJourneys, choose_worst, draw_worst, follow, read_records
from record.forked_calls import results_of
from record.wording import count_of

MOST_DEFECTS = 200
"""Defects of a variant that are listed."""
MOST_SLOW = 200
"""Slow notifications of a variant that are listed, and publications that its file of the worst journeys shows."""

_ARRIVALS = 100_000
"""Arrivals that may be told of, if every publication reaches every broker, and that the files of the worst journeys may
have: few journeys in a large overlay."""
_FEWEST_TOLD = 20


@dataclass(frozen=True, slots=True)
class DefectFound:
    """A publication and client with a defect."""

    wanted: Wanted
    defect: str
    detail: str


@dataclass(frozen=True, slots=True)
class SlowNotification:
    """One of the slowest notifications of a variant."""

    wanted: Wanted
    delay_ms: float
    queueing_ms: float | None
    path: Sequence[str]


@dataclass(frozen=True)
class Listed:
    """The part of the notable notifications that comes from tables."""

    defects: Sequence[DefectFound]
    slowest: Sequence[SlowNotification]
    worst: Sequence[Chosen]
    """The publications of each variant with the greatest delays; none where the logs are elsewhere."""


@dataclass(frozen=True)
class Notable:
    """The notable notifications of a run."""

    defects: Sequence[DefectFound]
    """Variant by variant, in the order of publishing."""
    slowest: Sequence[SlowNotification]
    """Variant by variant, the slowest first."""
    journeys: Mapping[Wanted, Told]
    """The journeys that are told: in a large overlay the first ones; none where the logs are elsewhere, as the next."""
    rates: Sequence[Rate]
    worst: Sequence[WorstJourneys]
    """A file of each variant with notifications; none where the logs are elsewhere."""

    def journey(self, variant: str, example: Example) -> Told | None:
        """The journey of an example; None where it is of no single publication."""
        return self.journeys.get(Wanted(variant, example.publication, example.client))

    def more(self, variant: str, examples: Sequence[Example]) -> list[DefectFound]:
        """The defects of a variant without its examples."""
        shown = {Wanted(variant, example.publication, example.client) for example in examples}
        return [found for found in self.defects if found.wanted.variant == variant and found.wanted not in shown]

    def is_cut(self, variant: str) -> bool:
        """True of a variant that may have more defects than are listed."""
        return sum(found.wanted.variant == variant for found in self.defects) == MOST_DEFECTS

    def slowest_of(self, variant: str) -> list[SlowNotification]:
        return [found for found in self.slowest if found.wanted.variant == variant]


def read_listed(run: RunDirectory, tables: Database) -> Listed:
    """Asks the tables of `analysis.trace.ASKED`."""
    names = [variant.name for variant in run.manifest.variants] if run.log_files else []
    worst = [choose_worst(run, tables, name, MOST_SLOW, _ARRIVALS // len(names)) for name in names]
    return Listed(list(_defects(tables)), list(_slowest(tables)), worst)


def read_notable(run: RunDirectory, summary: Summary, listed: Listed, processes: int = 1) -> Notable:
    """Reads the logs once; so many processes draw the worst journeys."""
    defects, slowest, worst = listed.defects, listed.slowest, listed.worst
    examples = [
        Wanted(variant.name, example.publication, example.client)
        for variant in summary.variants
        for example in variant.delivery.examples
        if example.publication and not example.publications
    ]
    wanted = dict.fromkeys([*examples, *(found.wanted for found in defects), *(found.wanted for found in slowest)])
    if not run.log_files:
        return Notable(defects, slowest, {}, (), ())
    told = [*islice(wanted, max(_FEWEST_TOLD, _ARRIVALS // max(1, len(run.brokers))))]
    chosen = {found.variant.name: set(found.publications) for found in worst}
    for journey in told:
        chosen[journey.variant].add(journey.publication)
    read = read_records(run, chosen)
    followed = follow(run, read, told)
    draws = [
        partial(draw_worst, run, found, read[found.variant.name], summary) for found in worst if found.publications
    ]
    drawn = results_of(draws, "the worst journeys of variant", processes)
    return Notable(defects, slowest, followed.journeys, followed.rates, drawn)


def _defects(tables: Database) -> Iterator[DefectFound]:
    if not tables.has("expected"):
        return
    ranked = "row_number() OVER (PARTITION BY variant ORDER BY published_ns NULLS FIRST, publication, client) AS place"
    for row in _rows(
        tables,
        "SELECT variant, publication, client, defect, notifications, cause, last_seen "  # noqa: S608 - constants
        f"FROM (SELECT *, {ranked} FROM expected WHERE defect IS NOT NULL) WHERE place <= {MOST_DEFECTS} "
        "ORDER BY variant, place",
    ):
        yield DefectFound(Wanted(row["variant"], row["publication"], row["client"]), row["defect"], _detail(row))


def _detail(row: Mapping[str, Any]) -> str:
    match row["defect"]:
        case Defect.LOST:
            return f"last {row['last_seen']}" if row["last_seen"] else row["cause"] or "no broker recorded it"
        case Defect.DUPLICATED:
            return f"notified {count_of(row['notifications'], 'time')}"
        case Defect.SPURIOUS:
            return str(row["cause"])
        case _:
            return "a later publication of the same publisher reached the client before"


def _slowest(tables: Database) -> Iterator[SlowNotification]:
    if not tables.has("notifications"):
        return
    ranked = "row_number() OVER (PARTITION BY variant ORDER BY delay_ms DESC, publication, client) AS place"
    for row in _rows(
        tables,
        "SELECT variant, publication, client, delay_ms, queueing_ms, path "  # noqa: S608 - constants
        f"FROM (SELECT *, {ranked} FROM notifications WHERE delay_ms IS NOT NULL AND repeat = 0) "
        f"WHERE place <= {MOST_SLOW} ORDER BY variant, place",
    ):
        wanted = Wanted(row["variant"], row["publication"], row["client"])
        yield SlowNotification(wanted, row["delay_ms"], row["queueing_ms"], row["path"] or ())


def _rows(tables: Database, sql: str) -> Iterator[Mapping[str, Any]]:
    for batch in tables.answer(sql).batches:
        yield from batch.to_pylist()
