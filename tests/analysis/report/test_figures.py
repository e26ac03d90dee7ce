"""Figures show the numbers of their tables."""

from __future__ import annotations

import pytest

from analysis.report import figures
from analysis.tables.delays import DelayDistribution, DelayOverTime
from analysis.tables.timeline import PhaseTimes
from analysis.tables.traffic import BrokerMessages, QueueLength


def handled(broker: str, kind: str, from_clients: int, received: int, variant: str = "fixed") -> BrokerMessages:
    return BrokerMessages(
        variant=variant,
        broker=broker,
        kind=kind,
        from_clients=from_clients,
        received=received,
        sent=0,
        delivered=0,
        received_bytes=0,
        sent_bytes=0,
    )


def test_distribution_ends_at_everything_and_steps_at_the_classes() -> None:
    rows = [
        DelayDistribution(variant="fixed", lower_ms=1.0, upper_ms=2.0, notifications=1),
        DelayDistribution(variant="fixed", lower_ms=4.0, upper_ms=8.0, notifications=3),
    ]
    (trace,) = figures.distribution_figure(rows, ["fixed", "dynamic"]).data
    assert list(zip(trace.x, trace.y, strict=True)) == [(1.0, 0.0), (2.0, 25.0), (4.0, 25.0), (8.0, 100.0)]


def test_delay_over_time_is_on_a_log_axis_and_marks_the_end_of_the_run() -> None:
    rows = [
        DelayOverTime(variant=variant, second=second, notifications=2, mean_ms=3, p50_ms=second + 1, p95_ms=9, max_ms=9)
        for variant in ("fixed", "dynamic")
        for second in (0, 1)
    ]
    phases = [PhaseTimes(variant="fixed", phase="run", start_ns=0, end_ns=0, start_s=0.0, end_s=30.0)]
    figure = figures.delay_over_time_figure(rows, phases, ["fixed", "dynamic"])
    assert figure.layout.yaxis.type == "log"
    assert [trace.name for trace in figure.data] == [
        "fixed",
        "fixed, 95th percentile",
        "dynamic",
        "dynamic, 95th percentile",
    ]
    assert [trace.line.dash for trace in figure.data] == ["solid", "dot"] * 2
    assert list(figure.data[0].y) == [1, 2]
    assert figure.layout.shapes[0].x0 == 30.0


def test_of_many_variants_only_the_median_is_shown() -> None:
    names = [f"V{number}" for number in range(figures.SPREAD_OF_VARIANTS_AT_MOST + 1)]
    rows = [
        DelayOverTime(variant=name, second=0, notifications=2, mean_ms=3, p50_ms=1, p95_ms=9, max_ms=9)
        for name in names
    ]
    assert [trace.name for trace in figures.delay_over_time_figure(rows, [], names).data] == names


@pytest.mark.parametrize(("values", "labels"), [((11.0, 23.0), None), ((1.0, 50.0), "D2"), ((), "D2")])
def test_a_log_axis_is_labelled_at_single_digits_where_it_is_long_enough(
    values: tuple[float, ...], labels: str | None
) -> None:
    assert figures.log_axis("delay", values)["dtick"] == labels


def test_brokers_are_sorted_by_load_and_hover_texts_name_kinds() -> None:
    rows = [handled("B1", "publish", 1, 0), handled("B2", "publish", 0, 5), handled("B2", "advertise", 0, 2)]
    (bars,) = figures.broker_messages_figure(rows, ["fixed"]).data
    assert (list(bars.x), list(bars.y)) == (["B2", "B1"], [7, 1])
    assert bars.customdata[0] == "publish: 5<br>advertise: 2"


def test_queues_show_the_longest_and_all_of_them_and_silence_is_zero() -> None:
    def gauge(broker: str, second: int, queue: int) -> QueueLength:
        return QueueLength(variant="fixed", broker=broker, neighbour="B9", second=second, queue=queue, in_flight=0)

    figure = figures.queue_figure([gauge("B1", 0, 4), gauge("B2", 0, 6), gauge("B1", 2, 1)], ["fixed"])
    longest, together = figure.data
    assert (list(longest.x), list(longest.y)) == ([0, 1, 2], [6, 0, 1])
    assert list(together.y) == [10, 0, 1]
    assert longest.customdata[0] == "B2 → B9"


@pytest.mark.parametrize(("share", "expected"), [(0.0, "#9db4c8"), (0.5, "#e0a63c"), (1.0, "#cf3f2e")])
def test_the_load_scale_has_its_stops(share: float, expected: str) -> None:
    assert figures.on_scale(share) == expected
