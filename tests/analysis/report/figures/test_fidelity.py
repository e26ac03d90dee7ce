"""Figures on the emulation's fidelity show the measurements."""

from __future__ import annotations

import pytest

from analysis.report.figures.fidelity import host_figure, link_delay_figure, link_error_figure, waits_figure
from record.fidelity import FidelityVerdict, LinkCheck, Sample, VariantFidelity


def probe(a: str, b: str, measured: float | None, second: float | None) -> LinkCheck:
    return LinkCheck(
        a=a, b=b, phase="before" if second is None else "during", delay_asked=0.004, delay_measured=measured,
        rate_asked=None, rate_measured=None, loss_asked=0.0, loss_measured=None, ok=measured != 0.009,
        detail="9 ms" if measured == 0.009 else "", second=second,
    )  # fmt: skip


FIDELITY = {
        "fixed": VariantFidelity(
            name="fixed",
            verdict=FidelityVerdict.INVALID,
            links=[
                probe("B1", "B2", 0.0041, None), probe("B2", "B1", 0.0039, None), probe("B1", "B2", 0.009, 2.5),
                probe("B2", "B1", None, 2.5),
            ],
            samples=[
                Sample(begin=0.0, end=1.0, cpu_busy=0.5, relay_held_up=0.25, loop_lag=0.02, relay_lateness=0.0001),
                Sample(begin=1.0, end=2.0, cpu_busy=0.75, relay_held_up=0.0),
            ],
        )
}  # fmt: skip


def test_each_direction_shows_the_requested_delay_and_each_measurement() -> None:
    asked, before, during = link_delay_figure(FIDELITY, ["fixed"]).data
    assert (list(asked.x), list(asked.y)) == (["B1 → B2", "B2 → B1"], [4.0, 4.0])
    assert list(before.y) == pytest.approx([4.1, 3.9])
    assert (list(during.x), list(during.y)) == (["B1 → B2"], [9.0])
    assert list(during.customdata) == [", 9 ms"]


def test_errors_are_measured_minus_requested_and_marked_beyond_limits() -> None:
    (errors,) = link_error_figure(FIDELITY, ["fixed"]).data
    assert list(errors.x) == [2.5]
    assert list(errors.y) == pytest.approx([5.0])
    assert list(errors.marker.symbol) == ["x"]


def test_quantities_without_measurements_have_no_line() -> None:
    lines = {line.name: line for line in host_figure(FIDELITY, ["fixed"]).data}
    assert set(lines) == {"fixed, CPU busy", "fixed, relay held up"}
    assert list(lines["fixed, CPU busy"].y) == [50.0, 75.0]
    assert list(lines["fixed, relay held up"].x) == [1.0, 2.0]
    waits = {line.name: list(line.y) for line in waits_figure(FIDELITY, ["fixed"]).data}
    assert waits == {"fixed, event loop lag": [20.0], "fixed, relay late, p99": pytest.approx([0.1])}


def test_a_variant_without_a_verdict_shows_nothing() -> None:
    assert len(host_figure(FIDELITY, ["dynamic"]).data) == 0
