"""`brokerlab analyze` and what follows every run: the analysis, the verdicts in words, the exit code."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from analysis.engines import Engine
from analysis.pipeline import analyze
from analysis.report import build_report
from analysis.run_files.run_directory import open_run
from analysis.tables.summary import BROKER_DEFECT, CORRECT, UNJUDGED, Delivery, Summary, VariantSummary, violated
from command_line.commands.fault_lines import fault_lines
from emulation import fidelity
from emulation.fidelity import Fidelity, Verdict
from record.exit_codes import ExitCode
from record.files import FIDELITY
from studies.junit import require_writable, write_junit
from studies.verdict_cases import verdict_suite, verdicts_of

_STYLES = {Verdict.VALID: "green", Verdict.DEGRADED: "yellow", Verdict.INVALID: "red"}
_DELIVERY_STYLES = {CORRECT: "green", UNJUDGED: "yellow"}
_REASONS_SHOWN = 4


def analyze_run(run: Path, engine: Engine, junit: Path | None) -> ExitCode:
    """`brokerlab analyze`: replaces a run's results and prints its verdicts. Raises `UserError`s."""
    require_writable(junit)
    console = Console(highlight=False)
    with telling(console) as tell:
        summary = analyze(run, engine, tell)
    return conclude(console, run, summary, junit)


def conclude(console: Console, run: Path, summary: Summary, junit: Path | None) -> ExitCode:
    """Prints the verdicts on an analysed run, and writes them for continuous integration if wanted."""
    judged = fidelity.read(run) if (run / FIDELITY).exists() else None
    print_verdicts(console, summary, judged)
    write_verdicts(run, summary, judged, junit)
    return exit_code(summary, judged)


def write_verdicts(run: Path, summary: Summary, judged: Fidelity | None, junit: Path | None) -> None:
    """The verdicts as JUnit XML, under the scenario's name, where a file is wanted."""
    if junit is not None:
        scenario = str(open_run(run).manifest.scenario.get("name", summary.run_id))
        write_junit([verdict_suite(scenario, verdicts_of(summary, judged))], junit)


def report_run(run: Path) -> ExitCode:
    """`brokerlab report`: makes the page of an analysed run. Raises `UserError`s."""
    console = Console(highlight=False)
    with telling(console, "drawing the report"):
        page = build_report(run)
    console.print(f"report: {page}", markup=False, soft_wrap=True)
    return ExitCode.CORRECT


@contextmanager
def telling(console: Console, task: str = "analysing the logs") -> Iterator[Callable[[str], None]]:
    """Shows how a task goes: a line that changes on a terminal, one that stays elsewhere."""
    if not console.is_terminal:
        console.print(task)
        yield lambda _: None
        return
    with console.status(task) as status:
        yield lambda what: status.update(f"{task}: {what}")


def exit_code(summary: Summary, judged: Fidelity | None) -> ExitCode:
    """The exit code for both verdicts.

    A broker's defect comes first, because deliveries are not judged then; next a violated delivery, which is a finding
    even where links were not as asked.
    """
    if BROKER_DEFECT in summary.delivery:
        return ExitCode.BROKER_DEFECT
    if any(violated(variant.delivery.verdicts, interrupted=variant.interrupted) for variant in summary.variants):
        return ExitCode.VIOLATED
    if judged is not None and judged.verdict is Verdict.INVALID:
        return ExitCode.INVALID
    return ExitCode.CORRECT


def print_verdicts(console: Console, summary: Summary, judged: Fidelity | None) -> None:
    """Both verdicts on each variant, with the numbers they rest on."""
    verdicts = {variant.name: variant for variant in judged.variants} if judged is not None else {}
    for variant in summary.variants:
        heading = Text(f"\n{variant.name}", style="bold")
        if variant.interrupted:
            heading.append(" (interrupted)", style="yellow")
        console.print(heading)
        console.print(Text("  delivery: ").append(*_delivery(variant.delivery)))
        for example in variant.delivery.examples:
            if example.defect == BROKER_DEFECT:
                console.print(example.detail, markup=False, soft_wrap=True, style="red")
        for line in _numbers(variant):
            _print_indented(console, line)
        if (found := verdicts.get(variant.name)) is not None:
            console.print(Text("  fidelity: ").append(found.verdict, style=_STYLES[found.verdict]))
            for reason in found.reasons[:_REASONS_SHOWN]:
                _print_indented(console, reason)
            if (more := len(found.reasons) - _REASONS_SHOWN) > 0:
                _print_indented(console, f"and {more} more, in fidelity.json")
            if found.advice:
                _print_indented(console, f"{found.advice}.")


def _print_indented(console: Console, line: str) -> None:
    """Wrapped to a terminal's width; in one piece where scripts read it."""
    if console.is_terminal:
        console.print(Padding(Text(line), (0, 0, 0, 4)))
    else:
        console.print(f"    {line}", markup=False, soft_wrap=True)


def _delivery(delivery: Delivery) -> tuple[str, str]:
    return ", ".join(delivery.verdicts), _DELIVERY_STYLES.get(delivery.verdicts[0], "red")


def _numbers(variant: VariantSummary) -> list[str]:
    delivery, delay = variant.delivery, variant.delay
    optional = f" and {delivery.optional:,} allowed" if delivery.optional else ""
    out_of_order = f", {delivery.reordered:,} reordered" if delivery.reordered else ""
    lines = [
        f"{delivery.published:,} published; {delivery.delivered:,} notifications delivered, {delivery.expected:,} "
        f"expected{optional}; {delivery.lost:,} lost, {delivery.duplicate:,} duplicate, {delivery.spurious:,} spurious"
        f"{out_of_order}"
    ]
    if delay.mean_ms is not None:
        lines.append(
            f"delay: mean {delay.mean_ms:.1f} ms, median {delay.p50_ms:.1f} ms, "
            f"95% within {delay.p95_ms:.1f} ms, 99% within {delay.p99_ms:.1f} ms"
        )
    return [*lines, *fault_lines(variant.faults)]
