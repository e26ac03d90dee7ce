"""Real quotes for benchmarks: of 100 symbols from an archive beside the tree, or of 5 symbols from a package."""

from __future__ import annotations

import re
import tarfile
from pathlib import Path

import numpy as np

from scenario.workload.quotes.bootstrap import extended
from scenario.workload.quotes.series import PRICES, VOLUME, Column, QuoteSeries, real_quotes, stock_series

ARCHIVE = Path(__file__).parents[3] / "shared" / "data" / "stockquotes.tar.gz"
_FIELD = re.compile(r"\[(\w+),'?([^'\]]*)'?\]")


def quotes_of_symbols(count: int, seed: int) -> tuple[tuple[QuoteSeries, ...], str]:
    """Quotes of `count` symbols, bootstrapped beyond the real ones, and a sentence on their origin."""
    if ARCHIVE.is_file():
        real, origin = _archive(), f"{ARCHIVE.name} beside the tree"
    else:
        real, origin = real_quotes(), f"the package bokeh_sampledata ({ARCHIVE.name} is not beside the tree)"
    series = extended(real, count, np.random.default_rng(seed))
    return series, f"{min(len(real), count)} real symbols from {origin}, bootstrapped to {len(series)}"


def _archive() -> tuple[QuoteSeries, ...]:
    """The archive's quotes, read without the parser of the product, which takes a minute for 245,190 lines."""
    series = []
    with tarfile.open(ARCHIVE) as archive:
        for member in sorted(archive.getmembers(), key=lambda member: member.name):
            if file := archive.extractfile(member):
                series.append(_series(file.read().decode("ascii").splitlines()))
    return tuple(series)


def _series(lines: list[str]) -> QuoteSeries:
    quotes = [dict(_FIELD.findall(line)) for line in reversed(lines)]  # the latest day comes first in the file
    traded = [quote for quote in quotes if all(float(quote[name]) > 0 for name in PRICES)]
    numbers: dict[str, Column] = {name: np.array([float(quote[name]) for quote in traded]) for name in PRICES}
    numbers[VOLUME] = np.array([int(quote[VOLUME]) for quote in traded])
    return stock_series(traded[0]["symbol"], numbers, [quote["date"] for quote in traded])
