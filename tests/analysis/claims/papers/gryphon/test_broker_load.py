"""Loads under propagation and under flooding."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from analysis.claims import ClaimsError
from analysis.claims.measured_run import MeasuredRun, MeasuredVariant
from analysis.claims.papers.gryphon.broker_load import mean_load
from analysis.tables.traffic import BrokerMessages
from tests.analysis.claims.papers.gryphon.small_runs import loads, measured, variant

FOUR = ("B1", "B2", "B3", "B4")


def point(filtering: str, publishers: int, of_publishers: float, of_subscribers: float) -> MeasuredVariant:
    """One point of figure 4(b), whose second second is twice as busy as its first one."""
    shares = {**dict.fromkeys(FOUR, of_publishers), "B5": of_subscribers}
    return variant(
        f"{filtering}-{publishers}",
        shares,
        settings={"routing.filtering": filtering, "workload.publications.topics": publishers},
        loads=loads({broker: (share * 2 / 3, share * 4 / 3) for broker, share in shares.items()}),
    )


FIGURE_4 = (
    *(point("vectors", count, 0.02 * count, sb) for count, sb in ((2, 0.2), (4, 0.204), (12, 0.2))),
    *(point("flooding", count, 0.08 * count, 0.1 * count) for count in (2, 4, 10)),
)


def figure_4(measure: str, *arguments: float) -> Sequence[float | None]:
    return measured(MeasuredRun(Path(), FIGURE_4), measure, *arguments).values


def test_loads_of_publisher_brokers_are_means_over_brokers_and_seconds() -> None:
    assert figure_4("load of publisher brokers", 10, 12) == pytest.approx((0.8, 0.24))


def test_the_subscriber_broker_is_constant_under_propagation_and_linear_under_flooding() -> None:
    constant, linear, equal = figure_4("load of the subscriber broker")
    assert constant == pytest.approx(0.05 - 0.02)
    assert linear == pytest.approx(0.01)
    assert equal == pytest.approx(0.05)


def test_loads_that_bend_are_not_linear() -> None:
    bent = (*FIGURE_4[:3], *(point("flooding", count, 0.1 * count, 0.01 * count**3) for count in (2, 4, 10)))
    _, linear, equal = measured(MeasuredRun(Path(), bent), "load of the subscriber broker").values
    assert linear is not None
    assert linear < 0
    assert equal is not None
    assert equal < 0


def test_flooding_grows_four_times_as_steeply() -> None:
    assert figure_4("growth of publisher brokers' load") == pytest.approx((0.01, 0.01, 3.0))


def test_a_load_of_some_seconds(tmp_path: Path) -> None:
    made = variant("v", ("ib",), loads=loads({"ib": (0.1, 0.2, 0.3, 0.6)}))
    assert mean_load(made, ("ib",), 1, 3) == pytest.approx(0.25)
    with pytest.raises(ClaimsError, match="no load of ib"):
        mean_load(made, ("ib",), 4)


def leaves(filtering: str, count: int, pb: float, ib: float, sb: float, size: int) -> MeasuredVariant:
    names = [f"sb{number}" for number in range(1, count + 1)]
    sent = BrokerMessages(
        variant="", broker="pb", kind="publish", from_clients=10, received=0, sent=10, delivered=0, received_bytes=0,
        sent_bytes=10 * size,
    )  # fmt: skip
    shares = {"pb": (pb,), "ib": (ib,), **dict.fromkeys(names, (sb,))}
    return variant(
        f"{filtering}{count}", ("pb", "ib", *names), settings={"routing.filtering": filtering}, loads=loads(shares),
        messages=(sent,),
    )  # fmt: skip


def test_loads_and_bytes_by_leaves() -> None:
    run = (
        leaves("vectors", 1, 0.20, 0.21, 0.30, 100),
        leaves("vectors", 7, 0.22, 0.21, 0.30, 104),
        leaves("flooding", 1, 0.19, 0.21, 0.30, 90),
        leaves("flooding", 7, 0.20, 0.195, 0.30, 90),
    )
    found = measured(MeasuredRun(Path(), run), "load by leaves").values
    assert found == pytest.approx((0.05 - 0.1, 0.05, 0.03 - 0.02, 0.01 - 0.015, 0.05 - 0.04))
