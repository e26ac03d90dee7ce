"""The variants of a run are compared, and a difference gets the cause that the logs show."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.compare import compare_runs
from analysis.compare.variants import relieved_link
from analysis.engines import PlainEngine
from analysis.pipeline import analyze
from analysis.tables.comparison import Comparison
from analysis.tables.delays import DelayOverTime
from analysis.tables.deliveries import Notification
from analysis.tables.results import read_table
from analysis.tables.traffic import LinkLoad
from record.files import MANIFEST
from record.log import Event
from tests.analysis.diamond import DIAMOND, HOMES
from tests.analysis.history import History, write_run

PUBLICATIONS = 10
UPPER, LOWER = ("B1", "B2", "B3"), ("B1", "B4", "B3")
"""The two ways from the publisher's broker to the subscriber's."""


def carried(
    variant: str, ways: Mapping[tuple[str, ...], int], wait: float, publications: int = PUBLICATIONS
) -> History:
    """A variant that sends the given numbers of publications over each way, one every six seconds.

    Each waits `wait` seconds in the first output queue, and takes 10 ms besides.
    """
    history = History(variant, homes=HOMES).advertise().subscribe()
    chosen = [way for way, number in ways.items() for _ in range(number)][:publications]
    for number, way in enumerate(chosen):
        publication, at = f"P:{number}", 100.0 + 6 * number
        history.publish(publication, at)
        history.add("B1", Event.RECEIVED, at + 0.001, id=publication, kind="publish", hops=0)
        waits = {way[0]: wait, way[1]: 0.0}
        for hop, (source, target) in enumerate(pairwise(way), start=1):
            sent = at + wait + hop * 0.002
            duration = round(waits[source] * 1e9)
            moved: dict[str, Any] = {"id": publication, "kind": "publish"}
            history.add(source, Event.SENT, sent, peer=target, duration=duration, queue=0, **moved)
            history.add(target, Event.RECEIVED, sent + 0.001, peer=source, hops=hop, **moved)
        history.notify(publication, at=at + wait + 0.01)
    return history


def compared(directory: Path, *variants: History) -> Comparison:
    summary = analyze(write_run(directory, variants, overlay=DIAMOND), PlainEngine())
    assert summary.comparison is not None
    return summary.comparison


def test_a_difference_from_queues_names_the_link_that_publications_went_round(tmp_path: Path) -> None:
    fixed, dynamic = carried("fixed", {UPPER: 10}, 0.09), carried("dynamic", {UPPER: 5, LOWER: 5}, 0.04)
    found = compared(tmp_path / "run", fixed, dynamic)
    assert found.relative_difference == pytest.approx(-0.5)
    assert found.queueing_share == pytest.approx(1.0)
    assert found.relieved is not None
    assert (found.relieved.source, found.relieved.target) == ("B1", "B2")
    assert (found.relieved.reference_publications, found.relieved.variant_publications) == (10, 5)


def test_of_three_variants_the_fastest_is_compared_with_the_first(tmp_path: Path) -> None:
    slow, fast = carried("slow", {UPPER: 10}, 0.19), carried("fast", {UPPER: 8, LOWER: 2}, 0.04)
    found = compared(tmp_path / "run", carried("fixed", {UPPER: 10}, 0.09), slow, fast)
    assert (found.variant, found.candidates, found.pairs) == ("fast", 2, PUBLICATIONS)


def test_no_link_is_named_that_was_not_relieved(tmp_path: Path) -> None:
    found = compared(tmp_path / "run", carried("fixed", {UPPER: 10}, 0.09), carried("dynamic", {UPPER: 10}, 0.04))
    assert found.because_of_queues
    assert found.relieved is None


def test_no_cause_is_named_of_variants_that_published_differently(tmp_path: Path) -> None:
    fewer = carried("fewer", {UPPER: 5, LOWER: 5}, 0.04, publications=8)
    found = compared(tmp_path / "run", carried("fixed", {UPPER: 10}, 0.09), fewer)
    assert found.relative_difference == pytest.approx(-0.5)
    assert (found.queueing_share, found.relieved) == (None, None)


def every_second(variant: str, seconds: int, before: float, delay: float, cycle: int = 3) -> History:
    """A publication a second, the first of which is due `before` the recorded start of the phase, in seconds. Delays
    grow over a cycle of publications."""
    history = History(variant, homes=HOMES, run_end=100 + seconds).advertise().subscribe()
    for number in range(seconds):
        at = 100 - before + number
        history.publish(f"P:{number}", at).notify(f"P:{number}", at=at + delay * (1 + number % cycle))
    return history


@pytest.mark.parametrize("before", [0.0, 0.004])
@pytest.mark.parametrize(("seconds", "enough"), [(20, False), (24, False), (25, True)])
def test_a_start_recorded_late_makes_no_further_block(
    tmp_path: Path, seconds: int, enough: bool, before: float
) -> None:
    """Real time and virtual time take the same number of whole blocks for enough."""
    variants = [every_second(name, seconds, before, delay) for name, delay in (("fixed", 0.02), ("dynamic", 0.01))]
    found = compared(tmp_path / "run", *variants)
    assert (found.pairs, found.interval is not None) == (seconds, enough)
    seconds_of_delays = {row.second for row in read_table(tmp_path / "run" / "results", DelayOverTime)}
    seconds_of_notifications = {row.second for row in read_table(tmp_path / "run" / "results", Notification)}
    assert min(seconds_of_delays) == min(second or 0 for second in seconds_of_notifications) == 0


def test_a_run_has_one_interval_in_its_summary_and_beside_any_run(tmp_path: Path) -> None:
    """The lead of the faster variant is the difference to the slower one turned round, whichever run stands beside."""
    runs = []
    for seed in (1, 2):
        variants = [every_second("fixed", 40, 0.0, 0.03), every_second("dynamic", 40, 0.0, 0.004, cycle=7)]
        runs.append(write_run(tmp_path / str(seed), variants, overlay=DIAMOND))
        manifest = runs[-1] / MANIFEST
        manifest.write_bytes(msgspec.json.encode({**json.loads(manifest.read_bytes()), "seed": seed}))
        summary = analyze(runs[-1], PlainEngine())
    found = summary.comparison
    assert found is not None and found.interval is not None
    low, high = (1 / (1 + end) - 1 for end in reversed(found.interval))
    for beside in runs:
        order = compare_runs(beside, runs[-1]).order
        assert order is not None
        assert order.second.lead.interval == pytest.approx((low, high), rel=1e-6)
        assert low < order.second.lead.value < high


def link(source: str, target: str, publications: int, mean_wait_ms: float | None) -> LinkLoad:
    return LinkLoad(
        variant="any", source=source, target=target, messages=publications, publications=publications, bytes=0,
        max_queue=0, mean_wait_ms=mean_wait_ms, max_wait_ms=mean_wait_ms,
    )  # fmt: skip


ROWS = st.dictionaries(
    st.tuples(st.sampled_from("AB"), st.sampled_from("CD")),
    st.tuples(st.integers(0, 50), st.none() | st.integers(0, 9).map(float)),
)


@given(ROWS, ROWS)
def test_a_relieved_link_is_the_one_that_cost_most_and_carried_a_tenth_less(
    reference: dict[tuple[str, str], tuple[int, float | None]], variant: dict[tuple[str, str], tuple[int, float | None]]
) -> None:
    found = relieved_link(
        [link(*ends, *row) for ends, row in reference.items()], [link(*ends, *row) for ends, row in variant.items()]
    )
    waited = {ends: publications * (wait or 0) for ends, (publications, wait) in reference.items()}
    if found is None:
        longest = [ends for ends in waited if waited[ends] == max(waited.values()) > 0]
        assert not longest or any(10 * variant.get(ends, (0,))[0] > 9 * reference[ends][0] for ends in longest)
    else:
        ends = found.source, found.target
        assert waited[ends] == max(waited.values()) > 0
        assert found.reference_publications == reference[ends][0]
        assert found.variant_publications == variant.get(ends, (0,))[0] <= 0.9 * reference[ends][0]
