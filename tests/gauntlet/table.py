"""The table of outcomes, on the terminal and as JSON."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tests.gauntlet.trials import Kind, Outcome

_WORDS = {
    Kind.DEFECT: ("named", "MISSED"),
    Kind.INFIDELITY: ("named", "MISSED"),
    Kind.HONEST: ("not blamed", "BLAMED"),
    Kind.MUTANT: ("named", "MISSED"),
}


def show(console: Console, outcomes: Sequence[Outcome]) -> None:
    """Prints one row for each outcome, then the wrong ones with the sentences that came out, then the counts."""
    console.print(_table(outcomes))
    for outcome in outcomes:
        if not outcome.is_right:
            _explain(console, outcome)
    for line in counted(outcomes):
        console.print(line, markup=False)


def _table(outcomes: Sequence[Outcome]) -> Table:
    table = Table(box=None, pad_edge=False)
    for heading in ("area", "planted, or run honestly", "verdict", "result"):
        table.add_column(heading, overflow="fold")
    table.add_column("s", justify="right")
    for outcome in outcomes:
        right, wrong = _WORDS[outcome.trial.kind]
        result = Text(right, style="green") if outcome.is_right else Text(wrong, style="bold red")
        verdict = "its process failed" if outcome.verdict is None else outcome.verdict.in_short()
        table.add_row(outcome.trial.area, outcome.trial.name, Text(verdict), result, f"{outcome.seconds:.1f}")
    return table


def _explain(console: Console, outcome: Outcome) -> None:
    trial = outcome.trial
    console.print(f"\n{trial.title}", style="bold", markup=False)
    console.print(f"  wanted: {trial.wanted}", markup=False)
    lines = outcome.failure.splitlines() if outcome.verdict is None else outcome.verdict.sentences
    for line in lines:
        console.print(f"    {line}", markup=False, soft_wrap=True)


def counted(outcomes: Sequence[Outcome]) -> list[str]:
    """One sentence for each kind of trial."""
    all_of: Counter[Kind] = Counter(outcome.trial.kind for outcome in outcomes)
    right: Counter[Kind] = Counter(outcome.trial.kind for outcome in outcomes if outcome.is_right)
    words = {
        Kind.DEFECT: "{right} of {all} planted defects named",
        Kind.INFIDELITY: "{right} of {all} infidelities named",
        Kind.HONEST: "{wrong} of {all} honest runs blamed",
        Kind.MUTANT: "{right} of {all} harmful mutants named",
    }
    return [
        words[kind].format(right=right[kind], all=all_of[kind], wrong=all_of[kind] - right[kind])
        for kind in Kind
        if all_of[kind]
    ]


def write_json(outcomes: Sequence[Outcome], file: Path) -> None:
    """Writes all outcomes with their sentences."""
    rows = [
        {
            "kind": outcome.trial.kind.value,
            "area": outcome.trial.area,
            "name": outcome.trial.name,
            "right": outcome.is_right,
            "wanted": outcome.trial.wanted,
            "seconds": round(outcome.seconds, 3),
            "failure": outcome.failure,
            "verdict": None
            if outcome.verdict is None
            else {
                "delivery": outcome.verdict.delivery,
                "fidelity": outcome.verdict.fidelity,
                "exit_code": outcome.verdict.exit_code,
                "sentences": outcome.verdict.sentences,
            },
        }
        for outcome in outcomes
    ]
    file.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
