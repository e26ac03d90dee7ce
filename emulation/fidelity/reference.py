"""The tables of checks and of figures in docs/fidelity.md, generated from the limits.

`python -m emulation.fidelity.reference docs/fidelity.md` writes each between its two markers in that file.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from emulation.fidelity import thresholds
from emulation.fidelity.thresholds import Threshold
from record.figures import LIMITS


def checks() -> str:
    """A row for each check in the order of `thresholds`."""
    rows = [
        f"| {limit.name} | {limit.unit} | {limit.degraded:g} | {_shown(limit.invalid)} | {limit.meaning} |"
        f" {limit.remedy} |"
        for limit in vars(thresholds).values()
        if isinstance(limit, Threshold)
    ]
    heading = [
        "| check | unit | DEGRADED beyond | INVALID beyond | what it means | what helps |",
        "|---|---|---|---|---|---|",
    ]
    return "\n".join([*heading, *rows])


def figures() -> str:
    """A row for each figure of delays."""
    rows = [
        f"| {figure} | {figure.in_words} | {limits.degraded:.0%} | {limits.invalid:.0%} |"
        for figure, limits in LIMITS.items()
    ]
    heading = ["| name | figure | DEGRADED beyond | INVALID beyond |", "|---|---|---|---|"]
    return "\n".join([*heading, *rows])


TABLES: Mapping[str, Callable[[], str]] = {"checks": checks, "figures": figures}
"""The tables, by the name in their markers."""


def updated(text: str) -> str:
    """The document with its tables up to date. Raises `ValueError` for a document without the markers."""
    for name, table in TABLES.items():
        first = f"<!-- {name}: begin (written by `python -m emulation.fidelity.reference docs/fidelity.md`) -->"
        begin, end = text.index(first) + len(first), text.index(f"<!-- {name}: end -->")
        text = f"{text[:begin]}\n\n{table()}\n\n{text[end:]}"
    return text


def _shown(limit: float) -> str:
    return "never" if math.isinf(limit) else f"{limit:g}"


if __name__ == "__main__":
    path = Path(sys.argv[1])
    path.write_text(updated(path.read_text(encoding="utf-8")), encoding="utf-8")
