"""The figure of queues shows the longest queue and the sum of all."""

from __future__ import annotations

from analysis.report.figures.queues import queue_figure
from analysis.tables.traffic import QueueLength


def test_queues_show_the_longest_and_all_of_them_and_silence_is_zero() -> None:
    def gauge(broker: str, second: int, queue: int) -> QueueLength:
        return QueueLength(variant="fixed", broker=broker, neighbour="B9", second=second, queue=queue, in_flight=0)

    figure = queue_figure([gauge("B1", 0, 4), gauge("B2", 0, 6), gauge("B1", 2, 1)], ["fixed"])
    longest, together = figure.data
    assert (list(longest.x), list(longest.y)) == ([0, 1, 2], [6, 0, 1])
    assert list(together.y) == [10, 0, 1]
    assert longest.customdata[0] == "B2 → B9"
