"""The text output of a campaign at its end: the matrix."""

from __future__ import annotations

import json
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import UNSET
from rich.table import Table
from rich.text import Text

from analysis.tables.limits import LimitOutcome
from analysis.tables.power import Power, percent
from analysis.tables.summary import CORRECT
from analysis.tables.wording import setting_value
from record.fidelity import FidelityVerdict
from record.wording import count_of
from studies.campaign.matrix import CampaignSummary, CellLine, MatrixEntry, SeedSpread
from studies.campaign.result import CampaignResult, struck_in_words

FIDELITY_STYLES = {FidelityVerdict.VALID: "green", FidelityVerdict.DEGRADED: "yellow", FidelityVerdict.INVALID: "red"}

_PLACE = re.compile(r"\([^()]+:\d+, in [^()]+\)$")
"""The line at the end of a sentence on a broker's defect."""


def matrix_table(summary: CampaignSummary) -> Table:
    """A row for each combination of factors, schedule and variant."""
    made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    made.add_column("factors")
    made.add_column("faults")
    tried = any(entry.delivery_ratio is not UNSET for entry in summary.matrix)
    delays = "delay before, ms", "during", "after"
    for heading in ("cells", "correct", "judged", "valid", "lost", "recovery, s", *delays):
        made.add_column(heading, justify="right", no_wrap=True)
    if tried:
        made.add_column("delivery ratio", justify="right", no_wrap=True)
    for entry in summary.matrix:
        made.add_row(
            Text(label(entry)),
            Text("\n".join(filter(None, (entry.schedule, struck_in_words(entry.struck))))),
            str(entry.cells),
            Text(str(entry.correct), style="green" if entry.correct == entry.cells else "red"),
            judged(entry.power),
            Text(str(entry.fidelity.get(FidelityVerdict.VALID, 0)), style=_validity_style(entry)),
            f"{entry.lost:,}",
            spread(entry.recovered_s, 2),
            *(
                spread(delay, 1)
                for delay in (entry.delay_before_ms or entry.mean_ms, entry.delay_during_ms, entry.delay_after_ms)
            ),
            *((delivery_ratio(entry) or "-",) if tried else ()),
        )
    return made


def label(entry: MatrixEntry) -> str:
    """The factors' values and the variant, if there are any."""
    return settings_label(entry.factors, entry.variant)


def settings_label(factors: Mapping[str, Any], variant: str) -> str:
    """The settings as `publications=dynamic, degree=4`, with the last part of each path."""
    parts = [f"{path.rsplit('.', 1)[-1]}={setting_value(value)}" for path, value in factors.items()]
    if variant != "base":
        parts.append(variant)
    return ", ".join(parts) or "-"


def spread(values: SeedSpread | None, decimals: int) -> str:
    """A spread as `2.41 (1.90 to 3.02)`: the mean, with the least and the greatest value if they differ."""
    if values is None:
        return "-"
    mean, least, most = (f"{value:,.{decimals}f}" for value in (values.mean, values.least, values.most))
    return mean if least == most else f"{mean} ({least} to {most})"


def judged(power: Power) -> str:
    """The judged share of the owed notifications as `98% of 2,160`."""
    return f"{percent(power.judged, power.owed)} of {power.owed:,}" if power.owed else "nothing owed"


def delivery_ratio(entry: MatrixEntry) -> str:
    """The ratio as `84.3% (82.0% to 86.5%)`, with its interval over seeds; empty where every delivery is promised."""
    found = entry.delivery_ratio
    if found is UNSET:
        return ""
    if found.low is None or found.high is None:
        return f"{found.mean:.1%}"
    return f"{found.mean:.1%} ({max(found.low, 0):.1%} to {min(found.high, 1):.1%})"


def failing(lines: Iterable[CellLine]) -> list[CellLine]:
    """The cells that make the campaign's exit code non-zero."""
    return [
        line
        for line in lines
        if not line.result.passed
        or line.result.fidelity == FidelityVerdict.INVALID
        or line.result.has_limit(LimitOutcome.NOT_JUDGED)
    ]


def limits_in_words(result: CampaignResult) -> Iterator[str]:
    """A line for each limit of a cell that was missed or not judged, with the variant's name where there are more."""
    for variant, limit in result.limits:
        if limit.outcome is not LimitOutcome.MET:
            yield limit.in_words() if len(result.variants) == 1 else f"{variant}: {limit.in_words()}"


def repeat_command(scenario: Path, result: CampaignResult) -> str:
    """The command that runs this cell again."""
    return shlex.join(["brokerlab", "emulate", str(scenario), "--runtime", result.runtime])


def twice_run(results: Iterable[CampaignResult]) -> Iterator[str]:
    """A sentence for each set of cells that differ in the name of their schedule, and struck the same at the same time.

    A role such as `edge-broker` may choose the broker that another one chooses.
    """
    alike: dict[tuple[str, int, frozenset[tuple[object, ...]]], list[CampaignResult]] = {}
    for result in results:
        faults = frozenset(
            (fault.kind, *fault.what, fault.second, fault.duration_s)
            for variant in result.variants
            for fault in variant.faults
        )
        if faults:
            alike.setdefault((json.dumps(result.factors), result.seed, faults), []).append(result)
    for same in alike.values():
        if len(same) > 1:
            keys = " and ".join(result.key for result in same)
            yield f"{keys} are the same experiment: {', '.join(same[0].struck)}"


def broker_defects(results: Iterable[CampaignResult]) -> Iterator[str]:
    """The sentence on a broker's defect, once for each line of code that failed, and the cells that have it.

    A sentence that names no line stands for itself.
    """
    cells: dict[str, dict[str, str]] = {}
    for result in results:
        for sentence in result.broker_defects:
            place = _PLACE.search(sentence)
            cells.setdefault(place[0] if place else sentence, {}).setdefault(result.key, sentence)
    for sentences in cells.values():
        first, *others = sentences
        more = f" and {len(others)} more" if others else ""
        yield f"{sentences[first]}; in {first}{more}"


def closing_lines(summary: CampaignSummary) -> Iterator[str]:
    """The totals of a campaign."""
    results = [line.result for line in summary.cells]
    correct = sum(result.delivery == [CORRECT] for result in results)
    counted = Counter(result.fidelity for result in results)
    fidelity = ", ".join(f"{counted[verdict]} {verdict}" for verdict in FidelityVerdict if counted[verdict]) or "-"
    cells = count_of(summary.planned, "cell")
    yield f"{summary.done} of {cells} done; delivery correct in {correct}; fidelity: {fidelity}"
    yield Power.total(variant.power for result in results for variant in result.variants).in_words()
    outcomes = Counter(limit.outcome for result in results for _, limit in result.limits)
    if outcomes:
        yield "limits: " + ", ".join(f"{outcomes[outcome]} {outcome}" for outcome in LimitOutcome if outcomes[outcome])
    yield from broker_defects(results)
    yield from twice_run(results)
    if summary.dilation is not UNSET:
        yield f"time dilation {summary.dilation.in_words()}"
    again = sum(line.attempts - 1 for line in summary.cells)
    if again:
        attempts = "attempt" if again == 1 else "attempts"
        yield f"{again} further {attempts}, because runs were disturbed from outside: each is in its cell's manifest"


def _validity_style(entry: MatrixEntry) -> str:
    if entry.fidelity.get(FidelityVerdict.INVALID):
        return "red"
    return "yellow" if entry.fidelity.get(FidelityVerdict.DEGRADED) else "green"
