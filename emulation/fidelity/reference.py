"""The table of checks in docs/fidelity.md, generated from the limits.

`python -m emulation.fidelity.reference docs/fidelity.md` writes it between the two markers in that file.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path

from emulation.fidelity import thresholds
from emulation.fidelity.thresholds import Threshold

BEGIN = "<!-- checks: begin (written by `python -m emulation.fidelity.reference docs/fidelity.md`) -->"
END = "<!-- checks: end -->"


def reference() -> str:
    """The table, with a row for each check in the order of `thresholds`."""
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


def updated(text: str) -> str:
    """The document with its table up to date. Raises `ValueError` for a document without the markers."""
    begin, end = text.index(BEGIN) + len(BEGIN), text.index(END)
    return f"{text[:begin]}\n\n{reference()}\n\n{text[end:]}"


def _shown(limit: float) -> str:
    return "never" if math.isinf(limit) else f"{limit:g}"


if __name__ == "__main__":
    path = Path(sys.argv[1])
    path.write_text(updated(path.read_text(encoding="utf-8")), encoding="utf-8")
