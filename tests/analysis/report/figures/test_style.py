"""The common style of figures: axes and scales."""

from __future__ import annotations

import pytest

from analysis.report.figures.style import log_axis, on_scale


@pytest.mark.parametrize(("values", "labels"), [((11.0, 23.0), None), ((1.0, 50.0), "D2"), ((), "D2")])
def test_a_log_axis_is_labelled_at_single_digits_where_it_is_long_enough(
    values: tuple[float, ...], labels: str | None
) -> None:
    assert log_axis("delay", values)["dtick"] == labels


@pytest.mark.parametrize(("share", "expected"), [(0.0, "#9db4c8"), (0.5, "#e0a63c"), (1.0, "#cf3f2e")])
def test_the_load_scale_has_its_stops(share: float, expected: str) -> None:
    assert on_scale(share) == expected
