"""The comparison of two run directories."""

from __future__ import annotations

from pathlib import Path

from analysis.compare.contention import judged_delays, judged_order
from analysis.compare.counts import compare_delivery, compare_matching, compare_messages
from analysis.compare.delays import compare_delays, order, verdict
from analysis.compare.means import compare_means
from analysis.compare.model import OrderComparison, RunComparison, VariantComparison
from analysis.compare.runs import AnalysedRun, Delays, read_run
from record.errors import RunDirectoryError


def compare_runs(first: Path, second: Path) -> RunComparison:
    """Compares two analysed runs, variant by variant. The result is deterministic, intervals included.

    Raises `RunDirectoryError` when one was not analysed, or when they have no variant in common.
    """
    left, right = read_run(first), read_run(second)
    common = [name for name in left.variants if name in right.variants]
    if not common:
        raise RunDirectoryError(
            f"{first} and {second} have no variant in common: {', '.join(left.variants)} here, "
            f"{', '.join(right.variants)} there; only variants of the same name can be compared"
        )
    return RunComparison(
        first=left.side,
        second=right.side,
        variants=[_compare_variant(name, left, right) for name in common],
        only_first=[name for name in left.variants if name not in common],
        only_second=[name for name in right.variants if name not in common],
        order=_compare_order(common, left, right),
    )


def _compare_variant(name: str, left: AnalysedRun, right: AnalysedRun) -> VariantComparison:
    first, second = left.variants[name], right.variants[name]
    both = [run.delays.get(name) for run in (left, right)]
    delays = [found for found in both if found is not None]
    compared = compare_delays(delays[0], delays[1], left.side.seed) if len(delays) == 2 else None
    return VariantComparison(
        name=name,
        delay=None if compared is None else judged_delays(compared, first.delay, second.delay),
        mean=compare_means(first, second),
        messages=compare_messages(first.broker_messages, second.broker_messages)
        if first.brokers_log and second.brokers_log
        else None,
        matching=compare_matching(first, second),
        delivery=compare_delivery(first, second),
        follows_load=name in left.follow_load | right.follow_load,
    )


def _compare_order(common: list[str], left: AnalysedRun, right: AnalysedRun) -> OrderComparison | None:
    delays: list[dict[str, Delays]] = [
        {name: run.delays[name] for name in common if name in run.delays} for run in (left, right)
    ]
    if any(len(found) < 2 for found in delays):
        return None
    first, second = (
        judged_order(order(found, run.side.seed), run.variants)
        for run, found in zip((left, right), delays, strict=True)
    )
    return OrderComparison(first=first, second=second, verdict=verdict(first, second))
