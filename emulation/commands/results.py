"""`brokerlab analyze` and what follows every run: the analysis, the verdicts in words, the exit code."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.text import Text

from analysis.errors import AnalysisError, AnalysisHostError
from analysis.run import analyze
from analysis.session import LOCAL_MASTER
from analysis.summary import CORRECT, Delivery, Summary, VariantSummary
from emulation import fidelity
from emulation.commands.exit_codes import ExitCode
from emulation.errors import BadInputError, HostError
from emulation.fidelity import Fidelity, Verdict

_STYLES = {Verdict.VALID: "green", Verdict.DEGRADED: "yellow", Verdict.INVALID: "red"}
_REASONS_SHOWN = 4


def analyze_run(run: Path, master: str | None) -> ExitCode:
    """`brokerlab analyze`: replaces a run's results and prints its verdicts. Raises `UserError`s."""
    console = Console(highlight=False)
    with analysis_errors_translated(), console.status("analysing") as status:
        summary = analyze(run, master or LOCAL_MASTER, lambda what: status.update(f"analysing: {what}"))
    judged = fidelity.read(run) if (run / "fidelity.json").exists() else None
    print_verdicts(console, summary, judged)
    return exit_code(summary, judged)


@contextmanager
def analysis_errors_translated() -> Iterator[None]:
    """The analysis knows nothing of what stands above it, so its errors are put into the command line's terms here."""
    try:
        yield
    except AnalysisHostError as error:
        raise HostError(str(error)) from error
    except AnalysisError as error:
        raise BadInputError(str(error)) from error


def exit_code(summary: Summary, judged: Fidelity | None) -> ExitCode:
    """What a script is told. A violated delivery comes first: it is a finding even where links were not as asked."""
    if not summary.correct:
        return ExitCode.VIOLATED
    if judged is not None and judged.verdict is Verdict.INVALID:
        return ExitCode.INVALID
    return ExitCode.CORRECT


def print_verdicts(console: Console, summary: Summary, judged: Fidelity | None) -> None:
    """Both verdicts on each variant, with the numbers they rest on."""
    verdicts = {variant.name: variant for variant in judged.variants} if judged is not None else {}
    for variant in summary.variants:
        heading = Text(variant.name, style="bold")
        if variant.interrupted:
            heading.append(" (interrupted)", style="yellow")
        console.print(heading)
        console.print(Text("  delivery: ").append(*_delivery(variant.delivery)))
        console.print(f"    {_numbers(variant)}")
        if (found := verdicts.get(variant.name)) is not None:
            console.print(Text("  fidelity: ").append(found.verdict, style=_STYLES[found.verdict]))
            for reason in found.reasons[:_REASONS_SHOWN]:
                console.print(f"    {reason}", markup=False)


def _delivery(delivery: Delivery) -> tuple[str, str]:
    return ", ".join(delivery.verdicts), "green" if delivery.verdicts == [CORRECT] else "red"


def _numbers(variant: VariantSummary) -> str:
    delivery, delay = variant.delivery, variant.delay
    text = (
        f"{delivery.published:,} published, {delivery.expected:,} notifications expected, {delivery.delivered:,} "
        f"delivered; {delivery.lost:,} lost, {delivery.duplicate:,} duplicate, {delivery.spurious:,} spurious"
    )
    if delay.mean_ms is not None:
        text += f"; delay mean {delay.mean_ms:.1f} ms, p95 {delay.p95_ms:.1f} ms, p99 {delay.p99_ms:.1f} ms"
    return text
