"""Matching work, on numbers of comparisons computed by hand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from analysis.claims.measured_run import MeasuredRun
from analysis.claims.papers.medym.variants import SCHEMES
from tests.analysis.claims.papers.medym.small_runs import measured, variant


def run_with(compared: Mapping[str, Mapping[str, float | None]]) -> MeasuredRun:
    """A run with these comparisons of an event, by matching ratio and scheme; 10 where none are given."""
    variants = []
    for ratio, by_scheme in compared.items():
        for scheme in SCHEMES:
            made = variant(f"{ratio}+{scheme}")
            matching = msgspec.structs.replace(made.matching, per_publication=by_scheme.get(scheme, 10.0))
            variants.append(replace(made, matching=matching))
    return MeasuredRun(Path("run"), tuple(variants))


def test_the_smallest_excess_counts_and_no_ratio_of_100_percent() -> None:
    run = run_with({"1": {"CBF": 60.0}, "10": {"CBF": 33.0, "MST": 11.0, "Channelization": 45.0}, "100": {"CBF": 1.0}})
    assert measured(run, "matching work").values == pytest.approx((33 / 11 - 1, 10 / 10 - 1))


def test_nothing_is_measured_where_a_scheme_compared_nothing() -> None:
    run = run_with({"1": {"CBF": 60.0, "CloseMST": None}})
    assert measured(run, "matching work").values == (None, None)
