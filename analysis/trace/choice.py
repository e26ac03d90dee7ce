"""The publications whose journeys are drawn, chosen by what the analysis found of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from analysis.query import Database, open_tables
from analysis.run_files.run_directory import RunDirectory
from record.errors import BadInputError
from record.manifest import PhaseName, VariantRecord
from record.time_units import SECOND

ASKED = ("notifications", "expected", "detections", "expected_detections")
"""The tables by which publications are chosen; a run may lack some."""
MOST_DEFECTS = 1_000
"""Publications with a defect that are chosen; of more, the first ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A user's wish."""

    variant: str | None = None
    """The first one of the run by default."""
    worst: int = 200
    """Publications with the greatest delays."""
    sample: int = 200
    """Publications at random."""
    seed: int = 1
    """Decides the sample: same run and seed, same sample."""
    publications: Sequence[str] = ()
    """Names; where there are any, no others are chosen."""
    begin: float | None = None
    """Seconds from the start of the phase `run`; publications made earlier are left out."""
    end: float | None = None


@dataclass(frozen=True, slots=True)
class Judged:
    """The judge's word on one publication and client with a defect."""

    publication: str
    client: str
    defect: str
    cause: str | None
    last_seen: str | None


@dataclass(frozen=True, slots=True)
class Chosen:
    """The publications that a trace shows."""

    variant: VariantRecord
    publications: Sequence[str]
    """In alphabetical order."""
    defects: Sequence[Judged]
    begin: int
    """The run's clock at which counters begin; as the publications, these are not shown earlier."""
    end: int


def choose(run: RunDirectory, choice: Choice) -> Chosen:
    """Chooses publications by the tables of an analysed run.

    Raises `BadInputError` for a variant that the run does not have, and `RunDirectoryError` without tables.
    """
    variant = _variant(run, choice.variant)
    begin, end = _window(variant, choice)
    with open_tables([run.path], ASKED) as tables:
        asking = _Asking(tables, variant.name, begin, end)
        names = {*choice.publications} or asking.chosen(choice)
        defects = [judged for judged in asking.defects() if judged.publication in names]
    return Chosen(variant, sorted(names), defects, begin, end)


def choose_worst(run: RunDirectory, tables: Database, variant: str, most: int, most_arrivals: int) -> Chosen:
    """The publications with the greatest delays, the greatest first, by the tables of `ASKED`.

    A publication arrives at every broker at most, and at those whom it notifies. Where all would arrive more often than
    `most_arrivals`, only the first are chosen.
    """
    of_variant = _variant(run, variant)
    begin, end = _window(of_variant, Choice())
    asking = _Asking(tables, variant, begin, end)
    worst = asking.worst(most)
    arrivals = accumulate(len(run.brokers) + notified for _, notified in worst)
    names = [name for (name, _), so_far in zip(worst, arrivals, strict=True) if so_far <= most_arrivals]
    defects = [judged for judged in asking.defects() if judged.publication in names]
    return Chosen(of_variant, names, defects, begin, end)


def _variant(run: RunDirectory, name: str | None) -> VariantRecord:
    variants = run.manifest.variants
    found = [variant for variant in variants if name in (None, variant.name)]
    if not found:
        known = ", ".join(variant.name for variant in variants)
        raise BadInputError(f"--variant {name}: the run has no such variant; it has {known}")
    return found[0]


def _window(variant: VariantRecord, choice: Choice) -> tuple[int, int]:
    """The times between which publications are made, by the run's clock. Raises `BadInputError` for an empty window."""
    if choice.begin is not None and choice.end is not None and choice.end <= choice.begin:
        raise BadInputError(f"--to {choice.end:g}: it must be later than --from {choice.begin:g}")
    run = variant.phase(PhaseName.RUN)
    start = 0 if run is None else run.start
    first = min((phase.start for phase in variant.phases), default=0)
    last = max((phase.end for phase in variant.phases), default=0)
    begin = first if choice.begin is None else start + round(choice.begin * SECOND)
    end = last if choice.end is None else start + round(choice.end * SECOND)
    return begin, end


class _Asking:
    """Questions about the publications of one variant that were made in some time."""

    def __init__(self, tables: Database, variant: str, begin: int, end: int) -> None:
        self._tables = tables
        self._begin, self._end = begin, end
        self._wrongly_detected = (
            f"variant = {_quoted(variant)} AND defect IS NOT NULL "
            f"AND (last_published_ns BETWEEN {begin} AND {end} OR last_published_ns IS NULL)"
        )
        self._of_variant = f"variant = {_quoted(variant)}"
        self._in_window = f"{self._of_variant} AND published_ns BETWEEN {begin} AND {end}"
        self._defective = f"{self._of_variant} AND (published_ns BETWEEN {begin} AND {end} OR published_ns IS NULL)"

    def chosen(self, choice: Choice) -> set[str]:
        """The worst, the defective, a random sample, and the sets that took longest for composite subscriptions."""
        worst = [name for name, _ in self.worst(choice.worst)]
        defective = self._names(
            "expected",
            f"SELECT publication FROM expected WHERE {self._defective} AND defect IS NOT NULL "  # noqa: S608 - quoted
            f"GROUP BY publication ORDER BY min(published_ns), publication LIMIT {MOST_DEFECTS}",
        )
        hashed = f"md5({_quoted(f'{choice.seed}:')} || publication)"
        sample = self._names(
            "expected",
            f"SELECT publication FROM expected WHERE {self._in_window} GROUP BY publication "  # noqa: S608 - quoted
            f"ORDER BY {hashed}, publication LIMIT {choice.sample}",
        )
        detected = self._names(
            "detections",
            "SELECT DISTINCT unnest(publications) FROM (SELECT publications FROM detections "  # noqa: S608 - quoted
            f"WHERE {self._of_variant} AND first_published_ns BETWEEN {self._begin} AND {self._end} "
            f"AND delay_ms IS NOT NULL ORDER BY delay_ms DESC, publications LIMIT {choice.worst // 2})",
        )
        wrong = self._names(
            "expected_detections",
            f"SELECT DISTINCT unnest(publications) FROM (SELECT publications FROM expected_detections "  # noqa: S608 - quoted
            f"WHERE {self._wrongly_detected} ORDER BY last_published_ns, publications LIMIT {MOST_DEFECTS})",
        )
        return {*worst, *defective, *sample, *detected, *wrong}

    def worst(self, most: int) -> list[tuple[str, int]]:
        """The publications with the greatest delays, the greatest first, with their numbers of notifications."""
        if not self._tables.has("notifications"):
            return []
        sql = (
            f"SELECT publication, count(*) FROM notifications WHERE {self._in_window} AND delay_ms IS NOT NULL "  # noqa: S608 - quoted
            f"GROUP BY publication ORDER BY max(delay_ms) DESC, publication LIMIT {most}"
        )
        return [(name, notified) for name, notified in self._rows(sql)]

    def defects(self) -> Iterator[Judged]:
        """The judge's words; of a set, for each publication of it."""
        asked = {
            "expected": f"SELECT publication, client, defect, cause, last_seen FROM expected WHERE {self._of_variant} "  # noqa: S608 - quoted
            "AND defect IS NOT NULL ORDER BY publication, client",
            "expected_detections": "SELECT unnest(publications) AS publication, client, defect, cause, last_seen "  # noqa: S608 - quoted
            f"FROM expected_detections WHERE {self._wrongly_detected} ORDER BY publication, client",
        }
        for table, sql in asked.items():
            if self._tables.has(table):
                yield from (Judged(*row) for row in self._rows(sql))

    def _names(self, table: str, sql: str) -> list[str]:
        """The publications that a question about a table finds; none where the run has no such table."""
        return [name for (name,) in self._rows(sql)] if self._tables.has(table) else []

    def _rows(self, sql: str) -> Iterator[tuple[Any, ...]]:
        for batch in self._tables.answer(sql).batches:
            yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
