"""Groups of delays, against grouping one notification after another."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.judging.delay_stage import DELAYS, DelaySamples, DelayTally, Grouping, measure_delays
from analysis.judging.judged import Receipt
from record.time_units import MILLISECOND, SECOND
from tests.analysis.rows import judged

notifications = st.tuples(
    st.integers(0, 1),
    st.none() | st.integers(-2 * SECOND, 2 * SECOND),
    st.integers(0, 9),
    st.none() | st.integers(0, 2),
    st.none() | st.integers(0, 9),
)
"""Variant, intended time, delay, links travelled, and wait in queues."""
starts = st.tuples(st.none() | st.just(0), st.none() | st.just(SECOND))


@given(st.lists(notifications), starts, st.integers(1, 3))
def test_a_notification_counts_in_every_group_that_is_known(
    notified: list[tuple[int, int | None, int, int | None, int | None]],
    run_starts: tuple[int | None, int | None],
    buckets: int,
) -> None:
    halves = DelaySamples(), DelaySamples()
    groups: dict[tuple[int, Grouping, int], list[tuple[int, int | None]]] = defaultdict(list)
    for number, (variant, intended, delay, hops, waited) in enumerate(notified):
        run_start = run_starts[variant]
        receipt = Receipt("B1", (intended or 0) + delay, 0, hops, waited, None)
        halves[number % 2].add(judged(variant=variant, intended=intended), receipt, run_start)
        if intended is None:
            continue
        groups[variant, Grouping.ALL, 0].append((delay, waited))
        if run_start is not None:
            second = (intended - run_start) // SECOND
            groups[variant, Grouping.SECOND, 0 if second == -1 else second].append((delay, waited))
        if hops is not None:
            groups[variant, Grouping.HOPS, hops].append((delay, waited))
    tally = DelayTally()
    parts = pa.concat_tables([DELAYS.empty_table(), *(half.groups(buckets) for half in halves)])
    bucket_of = np.array(parts.column("bucket").to_pylist(), np.int32)
    for bucket in set(bucket_of.tolist()):
        tally.merge(measure_delays(parts.filter(pa.array(bucket_of == bucket))))
    found = {(figures.variant, figures.grouping, figures.number): figures for figures in tally.figures}
    assert found.keys() == groups.keys()
    for key, delays in groups.items():
        known = [(delay, waited) for delay, waited in delays if waited is not None]
        assert found[key].notifications == len(delays)
        assert found[key].max_ms == max(delay for delay, _ in delays) / MILLISECOND
        assert found[key].mean_ms == sum(delay for delay, _ in delays) / len(delays) / MILLISECOND
        percentiles = [found[key].p50_ms, found[key].p95_ms, found[key].p99_ms]
        expected = np.percentile([delay for delay, _ in delays], [50, 95, 99]) / MILLISECOND
        assert percentiles == pytest.approx(expected.tolist())
        assert found[key].ways_known == len(known)
        total = sum(delay for delay, _ in known)
        assert found[key].queueing_share == (sum(waited for _, waited in known) / total if total else None)
