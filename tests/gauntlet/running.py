"""One simulated run and what the verdicts say of it, as a user's terminal and files show them."""

from __future__ import annotations

import io
import re
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec
from rich.console import Console

from analysis.engines import PlainEngine
from analysis.pipeline import analyze
from analysis.tables.audited import with_audit
from analysis.tables.summary import Summary
from command_line.commands.verdicts import exit_code, print_verdicts
from emulation.host.run_paths import RunPaths
from emulation.planning.plan import make_plan
from emulation.run import directory
from emulation.run.directory import RunOutcome
from emulation.simulation.run import simulate
from record.errors import UserError
from record.exit_codes import ExitCode
from record.fidelity import Fidelity, FidelityVerdict
from scenario.loading import load_text
from tests.gauntlet.planting import around

_WIDTH = 10_000
"""Columns of the terminal, so that no sentence is broken."""
_PASSED = frozenset({ExitCode.CORRECT, ExitCode.INTERRUPTED})

Edit = Callable[[Path], None]
"""Changes the directory of a run when its brokers have stopped, before its fidelity is judged and it is analysed."""


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """The verdicts on a run, as sentences. Nothing else of the run is kept, because nothing else is judged here."""

    delivery: tuple[str, ...]
    """Delivery verdicts of all variants; empty where the analysis came to none."""
    fidelity: str
    """The fidelity verdict; empty where the run came to none."""
    exit_code: int
    sentences: tuple[str, ...]
    """Lines that the terminal shows, the examples, and the failed checks of fidelity and audit."""

    @property
    def blames(self) -> bool:
        """True when a script would see that something is wrong: the exit code says so."""
        return self.exit_code not in _PASSED

    def names(self, pattern: str) -> bool:
        """True when a sentence matches this regular expression, and the verdict is not that all is well."""
        suspicious = self.blames or self.fidelity not in ("", FidelityVerdict.VALID)
        return suspicious and any(re.search(pattern, sentence) for sentence in self.sentences)

    def in_short(self) -> str:
        words = [", ".join(self.delivery) or "no verdict", self.fidelity or "no fidelity", f"exit {self.exit_code}"]
        return "; ".join(words)


@dataclass(frozen=True, slots=True)
class Run:
    """A scenario to be run."""

    text: str
    """The scenario, YAML."""
    name: str
    """For errors."""

    def judged(self, edit: Edit | None = None) -> Verdict:
        """Runs, analyses and judges in this process. A `UserError` is a verdict of its own: one sentence, exit code 2
        to 4."""
        with tempfile.TemporaryDirectory() as out:
            try:
                if edit is not None:
                    _edited_at_its_end(edit)
                outcome = self.simulated(Path(out))
                return verdict_on(outcome)
            except UserError as error:
                return _refused(error)

    def simulated(self, out: Path) -> RunOutcome:
        """Runs the scenario below `out` and analyses nothing."""
        return simulate(make_plan(load_text(self.text, self.name)), out)


def _edited_at_its_end(edit: Edit) -> None:
    """Has the directory of the run of this process changed when its nodes have stopped."""

    def conclude(original: Callable[..., RunOutcome], paths: RunPaths, *rest: object) -> RunOutcome:
        edit(paths.directory)
        return original(paths, *rest)

    around(directory, "conclude", conclude)


def _refused(error: UserError) -> Verdict:
    return Verdict(delivery=(), fidelity="", exit_code=int(error.exit_code), sentences=(str(error),))


def verdict_on(outcome: RunOutcome) -> Verdict:
    """Analyses a finished run and judges it. Raises `UserError`."""
    summary = analyze(outcome.directory, PlainEngine())
    printed = io.StringIO()
    judged = with_audit(outcome.fidelity, summary)
    print_verdicts(Console(file=printed, width=_WIDTH, highlight=False), summary, judged)
    sentences = [line.strip() for line in printed.getvalue().splitlines() if line.strip()]
    return Verdict(
        delivery=tuple(summary.delivery),
        fidelity=summary.fidelity,
        exit_code=int(exit_code(summary)),
        sentences=(*sentences, *_examples(summary), *_reasons(judged)),
    )


def _examples(summary: Summary) -> Iterator[str]:
    for variant in summary.variants:
        for example in variant.delivery.examples:
            yield f"{example.defect}: {example.subject} for {example.client}: {example.detail}"


def _reasons(judged: Fidelity | None) -> Iterator[str]:
    for variant in () if judged is None else judged.variants:
        yield from variant.reasons
