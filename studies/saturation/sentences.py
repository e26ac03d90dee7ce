"""The result of a search in words and as a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.table import Table
from rich.text import Text

from analysis.tables.wording import milliseconds, rounded, variant_name
from scenario.sections.search import HoldsWhile
from studies.saturation.bisection import LoadOutcome
from studies.saturation.capacity import Capacity, LoadPoint, SaturationSummary, best_first

_EQUAL = 1.05
"""Ratio of loads below which nothing is claimed."""
_REMEDY = "a larger host or a time dilation leads further"
STYLES = {LoadOutcome.HOLDS: "green", LoadOutcome.FAILS: "red", LoadOutcome.NOT_JUDGED: "yellow"}


def conditions_in_words(holds_while: HoldsWhile, share: float, seeds: int) -> str:
    """The conditions of holding: `deliveries are correct, p95 is at most 200 ms, ... in all of 3 seeds`."""
    delays = {figure: getattr(holds_while, figure) for figure in ("mean", "p50", "p95", "p99")}
    parts, judged = ["deliveries are correct"], holds_while.judged
    parts += [] if judged is None else [f"{100 * judged:.4g}% of the owed notifications is judged"]
    parts += [f"{figure} is at most {1e3 * most:,.6g} ms" for figure, most in delays.items() if most is not None]
    parts += ["queues do not grow and are empty at the end"]
    counted = "all" if share == 1 else f"{100 * share:.4g}%"
    return f"{', '.join(parts)}, in {'one seed' if seeds == 1 else f'{counted} of {seeds} seeds'}"


def title(summary: SaturationSummary) -> str:
    """The subject of the result, with what it is limited to."""
    limited = f" ({summary.limited_to})" if summary.limited_to else ""
    return f"{summary.name}: the highest {summary.raised} that holds{limited}"


def written(load: float, unit: str) -> str:
    return f"{load:,.6g}{unit}"


def carries(capacity: Capacity, unit: str) -> str:
    """The highest load, as far as it is known."""
    if capacity.highest is None:
        return f"less than {written(capacity.points[0].load, unit)}"
    load = written(capacity.highest, unit)
    return load if capacity.least_failing is not None and not _ends_unjudged(capacity) else f"{load} at least"


def capacity_table(summary: SaturationSummary) -> Table:
    """A row for each variant, in the order of the scenario."""
    made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    made.add_column("variant")
    for heading in ("carries", "by seed", "mean delay there", "95% within", "queued", "messages per publication"):
        made.add_column(heading, justify="right")
    made.add_column("the next load")
    for capacity in summary.capacities:
        point = _highest_point(capacity)
        made.add_row(
            variant_name(capacity.variant),
            Text(carries(capacity, summary.unit), style="green" if capacity.highest is not None else "red"),
            _by_seed(capacity, summary.seeds),
            *_figures(point),
            _end(capacity, summary.unit),
        )
    return made


def findings(summary: SaturationSummary) -> Iterator[str]:
    """The protocols side by side, and what a reader must know about the curves."""
    yield from _side_by_side(best_first(summary.capacities), summary.unit)
    for capacity in summary.capacities:
        name = variant_name(capacity.variant)
        if capacity.holding_beyond and capacity.least_failing is not None:
            beyond = ", ".join(written(load, summary.unit) for load in capacity.holding_beyond)
            failing = written(capacity.least_failing, summary.unit)
            yield f"{name}: the curve is not monotone: {failing} does not hold, and {beyond} does"
        if _ends_unjudged(capacity):
            end = written(capacity.least_failing or 0.0, summary.unit)
            whose = f"; on real brokers that is this host's part: {_REMEDY}" if not summary.limited_to else ""
            yield f"{name}: the search ends at {end}, which was not judged{whose}"


def _side_by_side(best: Sequence[Capacity], unit: str) -> Iterator[str]:
    known = [capacity for capacity in best if capacity.highest is not None]
    first = next(iter(known), None)
    for other in known[1:]:
        assert first is not None
        ratio = (first.highest or 0.0) / (other.highest or 1.0)
        loads = f"{carries(first, unit)} and {carries(other, unit)}"
        names = variant_name(first.variant), variant_name(other.variant)
        if ratio < _EQUAL:
            yield f"{names[0]} and {names[1]} carry the same, as far as the loads tried tell ({loads})"
        else:
            least = "at least " if first.least_failing is None or _ends_unjudged(first) else ""
            yield f"{names[0]} carries {least}{ratio:.2g} times what {names[1]} does ({loads})"


def _ends_unjudged(capacity: Capacity) -> bool:
    end = capacity.end
    return end is not None and end.outcome is LoadOutcome.NOT_JUDGED


def _highest_point(capacity: Capacity) -> LoadPoint | None:
    return next((point for point in capacity.points if point.load == capacity.highest), None)


def _by_seed(capacity: Capacity, seeds: Sequence[int]) -> str:
    found = [capacity.highest_of(seed) for seed in seeds]
    known = [load for load in found if load is not None]
    if len(known) < len(found) or not known:
        return "-"
    low, high = min(known), max(known)
    return f"{low:,.6g}" if low == high else f"{low:,.6g} to {high:,.6g}"


def _figures(point: LoadPoint | None) -> tuple[str, str, str, str]:
    if point is None:
        return "-", "-", "-", "-"
    queue, messages = point.mean("queue"), point.mean("messages")
    return (
        milliseconds(point.mean("mean_ms")),
        milliseconds(point.mean("p95_ms")),
        rounded(queue or 0.0),
        rounded(messages or 0.0),
    )


def _end(capacity: Capacity, unit: str) -> Text:
    point = capacity.end
    if point is None:
        return Text("none, because the search ends there")
    held = f" in {len(point.seeds) - point.held} of {len(point.seeds)} seeds" if len(point.seeds) > 1 else ""
    reason = f": {point.reason}" if point.reason else ""
    return Text(f"{written(point.load, unit)} {point.outcome}{held}{reason}", style=STYLES[point.outcome])
