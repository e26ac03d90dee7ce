"""The verdicts on an analysed run and on its limits: in words on the terminal, as JUnit XML, as an exit code."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from msgspec import UNSET
from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from analysis.compare.sentences.variants import comparisons_in_words
from analysis.report.sentences.dilation import missing_in_words
from analysis.report.sentences.fidelity import FIDELITY_SENTENCES
from analysis.report.sentences.figures import delay_line, overlay_line
from analysis.report.sentences.kept import kept_in_words
from analysis.run_files.run_directory import read_manifest
from analysis.tables.limits import LimitOutcome, LimitVerdict
from analysis.tables.summary import (
    BROKER_DEFECT,
    CORRECT,
    OF_NO_PUBLICATION,
    OVERTAKEN,
    UNJUDGED,
    UNKNOWN_FIDELITY,
    Delivery,
    Example,
    Summary,
    VariantSummary,
    violated,
)
from analysis.tables.timeline import Fault
from record.contract import is_of_foreign_brokers
from record.exit_codes import ExitCode
from record.faults import FaultKind
from record.fidelity import Fidelity, FidelityVerdict, VariantFidelity
from record.files import REPORT
from record.manifest import Manifest
from studies.junit import JunitSuite
from studies.verdict_cases import Origin, verdict_suite, verdicts_of

_STYLES = {FidelityVerdict.VALID: "green", FidelityVerdict.DEGRADED: "yellow", FidelityVerdict.INVALID: "red"}
_DELIVERY_STYLES = {CORRECT: "green", UNJUDGED: "yellow"}
_LIMIT_STYLES = {LimitOutcome.MET: "green", LimitOutcome.NOT_JUDGED: "yellow", LimitOutcome.MISSED: "red"}
"""Styles of outcomes, from the best to the worst."""
_REASONS_SHOWN = 4
_EXAMPLES_SHOWN = 3
"""Examples of each kind of defect; the report has all that were kept."""
_PROVES_NOTHING = frozenset({FidelityVerdict.INVALID, UNKNOWN_FIDELITY})
"""Fidelity verdicts under which correct deliveries prove nothing about the overlay that was asked for."""


def suite_of(run: Path, summary: Summary, judged: Fidelity | None) -> JunitSuite:
    """The verdicts on a run as JUnit cases, under the scenario's name. `judged` has the audit."""
    manifest, page = read_manifest(run), run / REPORT
    origin = Origin(
        seed=manifest.seed,
        revision=manifest.git_revision,
        runtime=manifest.runtime.name,
        report=page if page.exists() else None,
    )
    scenario = str(manifest.scenario.get("name", summary.run_id))
    return verdict_suite(scenario, verdicts_of(summary, judged, manifest), origin)


def exit_code(summary: Summary) -> ExitCode:
    """The exit code for all verdicts.

    A broker's defect comes first, because deliveries are not judged then; next a violated delivery or a missed limit,
    which is a finding even where links were not as asked. A run of whose fidelity nothing is known proves as little as
    an INVALID one, and so does one with a limit that was not judged, unless the user ended it.
    """
    if BROKER_DEFECT in summary.delivery:
        return ExitCode.BROKER_DEFECT
    outcomes = {limit.outcome for variant in summary.variants for limit in variant.limits or ()}
    if any(_violated(variant) for variant in summary.variants) or LimitOutcome.MISSED in outcomes:
        return ExitCode.VIOLATED
    if summary.fidelity in _PROVES_NOTHING or (LimitOutcome.NOT_JUDGED in outcomes and not summary.interrupted):
        return ExitCode.INVALID
    return ExitCode.CORRECT


def _violated(variant: VariantSummary) -> bool:
    return violated(variant.delivery.verdicts, variant.fidelity, interrupted=variant.interrupted)


def print_verdicts(console: Console, summary: Summary, judged: Fidelity | None) -> None:
    """Prints both verdicts on each variant, with the numbers behind them. `judged` has the audit."""
    verdicts = {variant.name: variant for variant in judged.variants} if judged is not None else {}
    for variant in summary.variants:
        heading = Text(f"\n{variant.name}", style="bold")
        if variant.interrupted:
            heading.append(" (interrupted)", style="yellow")
        console.print(heading)
        console.print(Text("  delivery: ").append(*_delivery(variant.delivery)))
        for example in variant.delivery.examples:
            if example.defect in OF_NO_PUBLICATION:
                _print_indented(console, example.sentence, "red")
        for line in _numbers(variant):
            _print_indented(console, line)
        for line in _defects(variant.delivery.examples):
            _print_indented(console, line)
        if (found := verdicts.get(variant.name)) is not None:
            console.print(Text("  fidelity: ").append(found.verdict, style=_STYLES[found.verdict]))
            if BROKER_DEFECT not in variant.delivery.verdicts:  # the defect says it all
                _print_reasons(console, found)
            if variant.withheld is not UNSET:
                unknown = sum(is_of_foreign_brokers(check.detail) for check in found.checks)
                measured = f"{unknown} of {len(found.checks)} checks were not measured"
                _print_indented(console, f"{measured}, because the brokers are not brokerlab's; the report names them")
        _print_limits(console, variant.limits or ())
    if summary.fidelity == UNKNOWN_FIDELITY:
        sentence = FIDELITY_SENTENCES[UNKNOWN_FIDELITY]
        console.print(Text(f"\nfidelity: {sentence}", style="yellow"), soft_wrap=not console.is_terminal)
    for sentence in summary.logs.in_words():
        console.print(Text(f"\n{sentence}", style="yellow"), soft_wrap=not console.is_terminal)


def _print_limits(console: Console, limits: Sequence[LimitVerdict]) -> None:
    """Prints a line for each limit, below how many of them were met."""
    if not limits:
        return
    console.print(Text("  limits: ").append(*limits_label(limits)))
    for limit in limits:
        _print_indented(console, limit.in_words())


def _defects(examples: Sequence[Example]) -> Iterator[str]:
    """A line for each of the first examples of each kind of defect, if they concern publications."""
    shown: Counter[str] = Counter()
    for example in examples:
        shown[example.defect] += 1
        if example.defect not in {*OF_NO_PUBLICATION, OVERTAKEN} and shown[example.defect] <= _EXAMPLES_SHOWN:
            of = f"{example.subject} to {example.client}: " if example.subject else ""
            yield f"{example.defect}: {of}{example.sentence}"


def _print_reasons(console: Console, found: VariantFidelity) -> None:
    """Prints the reasons of a fidelity verdict, and the advice."""
    for reason in found.reasons[:_REASONS_SHOWN]:
        _print_indented(console, reason)
    if (more := len(found.reasons) - _REASONS_SHOWN) > 0:
        _print_indented(console, f"and {more} more, in fidelity.json and summary.json")
    if found.advice:
        _print_indented(console, f"{found.advice}.")


def print_dilation(console: Console, summary: Summary, manifest: Manifest) -> None:
    """Prints the time dilation of a run, its origin, and what it took from the delays; nothing of a run without one."""
    if manifest.dilation is not UNSET:
        console.print(f"\ntime dilation {manifest.dilation.in_words()}", markup=False, soft_wrap=True)
    factors = {variant.name: variant.time_dilation for variant in manifest.variants}
    for variant in summary.variants:
        if (missing := missing_in_words(variant.delay, factors.get(variant.name, 1.0))) is not None:
            console.print(f"{variant.name}: {missing}", markup=False, soft_wrap=True)


def print_finding(console: Console, summary: Summary, run: Path) -> None:
    """Prints the difference between variants, the most telling sentence last.

    Of a single variant it prints the promise that it kept under faults, and nothing without any.
    """
    manifest = read_manifest(run)
    if (kept := kept_in_words(summary, manifest)) is not None:
        console.print(Text(f"\n{kept}", style="bold"), soft_wrap=not console.is_terminal)
    if summary.comparison is None:
        return
    for words in reversed(comparisons_in_words(summary, manifest.scenario)):
        console.print(Text(f"\n{words.finding}", style="bold"), soft_wrap=not console.is_terminal)
        if words.numbers:
            console.print(Text(words.numbers), soft_wrap=not console.is_terminal)
    if summary.fidelity == FidelityVerdict.INVALID or any(map(_violated, summary.variants)):
        console.print(Text("Do not quote this difference: a verdict above says that the run did not hold."))


def _print_indented(console: Console, line: str, style: str = "") -> None:
    """Prints a line, wrapped on a terminal and in one piece elsewhere."""
    if console.is_terminal:
        console.print(Padding(Text(line, style), (0, 0, 0, 4)))
    else:
        console.print(f"    {line}", markup=False, soft_wrap=True)


def limits_label(limits: Sequence[LimitVerdict]) -> tuple[str, str]:
    """The outcomes of limits as `2 met, 1 missed`, and the style of the worst."""
    counts = Counter(limit.outcome for limit in limits)
    worst = max(counts, key=list(_LIMIT_STYLES).index)
    return ", ".join(f"{counts[outcome]} {outcome}" for outcome in LimitOutcome if counts[outcome]), _LIMIT_STYLES[
        worst
    ]


def _delivery(delivery: Delivery) -> tuple[str, str]:
    return ", ".join(delivery.verdicts), _DELIVERY_STYLES.get(delivery.verdicts[0], "red")


def _numbers(variant: VariantSummary) -> list[str]:
    delivery, delay = variant.delivery, variant.delay
    lines = [] if delivery.best_effort is UNSET else [delivery.best_effort.in_words()]
    lines += [delivery.counts_in_words(), delivery.power_in_words()]
    if delivery.detections is not UNSET:
        lines.append(delivery.detections.in_words())
    if delivery.starts is not UNSET:
        lines.append(delivery.starts.in_words())
    if delay.mean_ms is not None:
        lines += filter(None, (delay_line(delay), overlay_line(delay)))
        if variant.withheld is UNSET:
            lines.append(
                "parts of the delay: not known" if delay.budget is UNSET else delay.budget.in_words(delay.notifications)
            )
    lines += [figures.in_words() for figures in (variant.system, variant.sent) if figures is not UNSET]
    lines += [f"not known: {figures}" for figures in variant.withheld or ()]
    if variant.sampled_logs is not UNSET:
        lines.append(variant.sampled_logs.in_words())
    lines += fault_lines(variant.faults, seen=variant.brokers_log)
    return [*lines, *(start.in_words() for start in variant.slow_starts or ())]


def fault_lines(faults: Iterable[Fault], *, seen: bool = True) -> list[str]:
    """One line for each kind of fault, in the order of first injection; without what brokers saw, where none logged."""
    by_kind: dict[str, list[Fault]] = {}
    for fault in faults:
        by_kind.setdefault(fault.kind, []).append(fault)
    return [(_line if seen else _line_of_clients)(kind, of_kind) for kind, of_kind in by_kind.items()]


def _line_of_clients(kind: str, faults: Sequence[Fault]) -> str:
    """Faults of one kind, as clients saw them."""
    times = f" ({len(faults)} times)" if len(faults) > 1 else ""
    late, excused, lost = _counts(faults)
    return f"{kind}{times}: {_recovered(faults)}; {late:,} late, {excused:,} excused" + (
        f", {lost:,} lost" if lost else ""
    )


def _counts(faults: Sequence[Fault]) -> tuple[int, int, int]:
    """Notifications that were late, excused and lost, each counted for one fault of the kind."""
    late = sum((fault.late or 0) - fault.late_shared for fault in faults)
    excused = sum(fault.excused - fault.excused_shared for fault in faults)
    return late, excused, sum(fault.lost - fault.lost_shared for fault in faults)


def _line(kind: str, faults: Sequence[Fault]) -> str:
    times = f" ({len(faults)} times)" if len(faults) > 1 else ""
    late, excused, lost = _counts(faults)
    dropped = sum((fault.dropped or 0) - fault.dropped_shared for fault in faults)
    counted = f"{late:,} late, {excused:,} excused, {dropped:,} dropped" + (f", {lost:,} lost" if lost else "")
    known = FaultKind.named(kind)  # no broker notices a client that fails as it notices a neighbour
    detected = "" if known is not None and known.of_clients else f"{_detected(faults)}, "
    return f"{kind}{times}: {detected}{_recovered(faults)}; {counted}"


def _detected(faults: Sequence[Fault]) -> str:
    first = [fault.detected_first_s for fault in faults if fault.detected_first_s is not None]
    last = [fault.detected_last_s for fault in faults if fault.detected_last_s is not None]
    if not first or not last:
        return "no neighbour noticed"
    low, high = f"{min(first):.2f}", f"{max(last):.2f}"
    return f"detected within {high} s" if low == high else f"detected after {low} to {high} s"


def _recovered(faults: Sequence[Fault]) -> str:
    unhealed = sum(fault.healed_ns is None for fault in faults)
    recovered = [fault.recovered_s for fault in faults if fault.recovered_s is not None]
    if unhealed:
        return "never healed" if unhealed == len(faults) else f"{unhealed} never healed"
    if not recovered:
        return "no delivery before to compare with"
    after = "arrival" if faults[0].kind == FaultKind.MOVE else "heal"
    return f"recovered {max(recovered):.2f} s after the {after}"
