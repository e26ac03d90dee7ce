"""The load of a run in words, for a report and for a terminal."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import UNSET

from record.load import Course, Distribution, Load, Popularity
from record.wording import count_of

_LEVELS = "▁▂▃▄▅▆▇█"
_VALUES_SHOWN = 3


def load_rows(load: Load) -> list[tuple[str, str]]:
    """Rows of a description: label and value."""
    amounts = load.amounts
    composites = (
        []
        if load.detections is UNSET
        else [("Detections of a composite subscription", _distribution(load.detections, _number))]
    )
    return [
        ("Clients", f"{amounts.publishers:,} publish, {amounts.subscribers:,} subscribe"),
        ("Operations", _operations(load)),
        ("Publications a second", _rate(load.course, load.course.publications, load.run_begins)),
        ("Changes a second", _rate(load.course, load.course.changes, 0.0)),
        ("Busiest tenth of the publishers", f"makes {_percent(load.busiest)} of the publications"),
        ("Size of a publication", _distribution(load.sizes, _bytes)),
        ("Matches of a publication", _matches(load)),
        ("Selectivity of a subscription", _distribution(load.selectivity, _percent)),
        *composites,
        ("Popularity", _popularity(load.popularity)),
        (
            "Compared",
            f"{load.publications_compared:,} of {count_of(amounts.publications, 'publication')} with "
            f"{load.subscriptions_compared:,} of {count_of(amounts.subscriptions, 'subscription')}",
        ),
    ]


def loads_beside(loads: Sequence[Load]) -> list[tuple[str, list[str]]]:
    """Rows of all variants: label, and the value of each; of one alone where all are alike."""
    columns = [dict(load_rows(load)) for load in loads]
    if all(column == columns[0] for column in columns):
        columns = columns[:1]
    labels = max(columns, key=len, default={})
    return [(label, [column.get(label, "none") for column in columns]) for label in labels]


def course_line(counts: Sequence[int]) -> str:
    """Amounts over time as a line of bars."""
    most = max(counts, default=0)
    if not most:
        return ""
    return "".join(_LEVELS[min(count * len(_LEVELS) // most, len(_LEVELS) - 1)] for count in counts)


def _operations(load: Load) -> str:
    amounts = load.amounts
    told = [
        (amounts.advertisements, "advertisement"),
        (amounts.subscriptions, "subscription"),
        (amounts.composites, "composite subscription"),
        (amounts.withdrawals, "withdrawal"),
        (amounts.publications, "publication"),
    ]
    return ", ".join(count_of(count, name) for count, name in told if count)


def _rate(course: Course, counts: Sequence[int], begins: float) -> str:
    first = min(int(begins / course.seconds), len(counts) - 1)
    counted = counts[first:]
    mean, most = sum(counted) / len(counted) / course.seconds, max(counted) / course.seconds
    return f"{_number(mean)} in the mean, {_number(most)} at most  {course_line(counted)}".rstrip()


def _matches(load: Load) -> str:
    told = _distribution(load.matches, _number)
    return f"{told}; {_percent(load.unmatched)} match none" if load.unmatched else told


def _popularity(popularity: Popularity | None) -> str:
    if popularity is None:
        return "subscriptions name no value"
    told = [
        f"{one.value} ({_percent(one.published)} of publications, {_percent(one.wanted)} of subscriptions)"
        for one in popularity.values[:_VALUES_SHOWN]
    ]
    return f"{popularity.attribute}: {', '.join(told)}"


def _distribution(found: Distribution | None, written: Callable[[float], str]) -> str:
    if found is None:
        return "none"
    return (
        f"{written(found.mean)} in the mean, {written(found.p50)} in the median, 95% up to {written(found.p95)}, "
        f"{written(found.most)} at most"
    )


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:.3g}"


def _percent(share: float) -> str:
    return f"{share * 100:.3g}%"


def _bytes(size: float) -> str:
    return f"{size:,.0f} B"
