"""Any number of further symbols from a few real ones: a moving block bootstrap of daily log returns.

Blocks of consecutive days are drawn with replacement and concatenated (H. R. Künsch, The jackknife and the
bootstrap for general stationary observations, Annals of Statistics 17, 1989), so that volatility clusters as in the
real series. Each day keeps its own shape (open, high and low relative to the close) and its volume. The
source's trend is removed, because a share that halved in its one real year would be worth nothing after ten years.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from scenario.workload.quotes.series import PRICES, VOLUME, Column, QuoteSeries, stock_series

BLOCK = 20
"""Trading days in a block: about a month."""
_LARGEST_RETURN = 0.4
"""A larger daily log return is a stock split in unadjusted quotes; it counts as 0."""
_CENT = 0.01


def bootstrap(source: QuoteSeries, symbol: str, length: int, rng: np.random.Generator) -> QuoteSeries:
    """A synthetic series of `length` days that begins near one of the source's closing prices."""
    close = np.asarray(source.numbers["close"], dtype=np.float64)
    returns = np.diff(np.log(close), prepend=np.log(close[0]))
    returns[np.abs(returns) > _LARGEST_RETURN] = 0.0
    returns[1:] -= returns[1:].mean() if len(source) > 1 else 0.0
    days = _days(len(source), length, rng)
    first = rng.choice(close) * rng.uniform(0.5, 1.5)
    path = np.maximum(first * np.exp(np.cumsum(returns[days])), _CENT)
    numbers: dict[str, Column] = {}
    for name in PRICES:
        shape = np.asarray(source.numbers[name], dtype=np.float64)[days] / close[days]
        numbers[name] = np.maximum(np.round(path * shape, 2), _CENT)
    numbers[VOLUME] = source.numbers[VOLUME][days]
    dates = source.strings["date"]
    return stock_series(symbol, numbers, [dates[day % len(dates)] for day in range(length)])


def lacking_for_more(series: Sequence[QuoteSeries]) -> str:
    """The first attribute without which `extended` can make no further series; empty where all are there."""
    for quotes in series:
        for name in (*PRICES, VOLUME):
            if name not in quotes.numbers:
                return name
        if "date" not in quotes.strings:
            return "date"
    return ""


def extended(series: Sequence[QuoteSeries], count: int, rng: np.random.Generator) -> tuple[QuoteSeries, ...]:
    """`count` series: the given ones, then bootstrapped ones named after their source (AAPL-2, AAPL-3, ...)."""
    result = list(series[:count])
    longest = max(len(quotes) for quotes in series)
    while len(result) < count:
        generation, index = divmod(len(result), len(series))
        source = series[index]
        result.append(bootstrap(source, f"{source.symbol}-{generation + 1}", longest, rng))
    return tuple(result)


def _days(available: int, length: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Indices of days: blocks with random starts; a block that reaches the end continues at the start."""
    blocks = -(-length // BLOCK)
    starts = rng.integers(0, available, size=blocks)
    days = (starts[:, np.newaxis] + np.arange(BLOCK)) % available
    return days.reshape(-1)[:length]
