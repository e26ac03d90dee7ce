"""Series of quotes: the content of publications, from which subscriptions choose their ranges."""

from __future__ import annotations

import csv
import functools
import gzip
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from broker_service.language import Operator, Predicate, Value

Column = NDArray[np.float64] | NDArray[np.int64]

PRICES = ("open", "high", "low", "close")
VOLUME = "volume"

LARGEST_NUMBER = 1e15
"""Larger numbers are refused, because not all such integers are exact in a double."""


@dataclass(frozen=True, slots=True, eq=False)
class QuoteSeries:
    """The quotes of one symbol, in order of time. All columns have the same length, at least 1."""

    symbol: str
    constants: Mapping[str, str]
    """String attributes that all quotes share: `class` and `symbol`."""
    numbers: Mapping[str, Column]
    """Numeric attributes."""
    strings: Mapping[str, Sequence[str]]
    """String attributes that differ from quote to quote: `date`."""

    def __len__(self) -> int:
        columns = [*self.numbers.values(), *self.strings.values()]
        return len(columns[0]) if columns else 1

    def attributes(self, row: int) -> dict[str, Value]:
        """One quote as the attributes of a publication."""
        quote: dict[str, Value] = dict(self.constants)
        for name, column in self.numbers.items():
            quote[name] = column.item(row)
        for name, texts in self.strings.items():
            quote[name] = texts[row]
        return quote

    def advertisement(self) -> list[Predicate]:
        """The predicates that a publisher of this symbol advertises: numbers above 0, or from the least quoted one."""
        predicates = [Predicate(name, Operator.STRING_EQUAL, value) for name, value in self.constants.items()]
        for name, column in self.numbers.items():
            least = column.min().item()
            positive = least > 0
            operator = Operator.GREATER if positive else Operator.GREATER_OR_EQUAL
            predicates.append(Predicate(name, operator, 0 if positive else least))
        predicates += [Predicate(name, Operator.PRESENT, "any") for name in self.strings]
        return predicates


def stock_series(symbol: str, numbers: Mapping[str, Column], dates: Sequence[str]) -> QuoteSeries:
    """A series with the papers' attributes: class, symbol, open, high, low, close, volume and date."""
    return QuoteSeries(symbol, {"class": "STOCK", "symbol": symbol}, numbers, {"date": dates})


@functools.cache
def real_quotes() -> tuple[QuoteSeries, ...]:
    """Daily quotes of AAPL, FB, GOOG, IBM and MSFT from 2000 to 2013, in the public domain; read once in a process.

    The package `bokeh_sampledata` contains them, unadjusted for splits.
    """
    from bokeh_sampledata import package_path  # noqa: PLC0415 - looked up only when these quotes are asked for

    with gzip.open(package_path("stocks.csv.gz"), "rt", encoding="ascii", newline="") as file:
        return ohlcv_series(csv.DictReader(file))


def ohlcv_series(rows: Iterable[Mapping[str, str]], symbol: str = "") -> tuple[QuoteSeries, ...]:
    """Series from the rows of a CSV file with the columns date, open, high, low, close and volume, in any case.

    A column `symbol` (or `ticker`) distinguishes several series; without it all rows belong to `symbol`. Rows with a
    price that is not above 0 (a day without trade) are skipped. Raises `ValueError` naming the row and the column.
    """
    grouped: dict[str, list[tuple[str, tuple[float, ...], int]]] = {}
    for number, row in enumerate(rows, start=2):
        fields = {str(name).strip().lower(): value for name, value in row.items()}
        prices = tuple(_number(fields, name, number) for name in PRICES)
        volume = int(_number(fields, VOLUME, number))
        name = fields.get("symbol") or fields.get("ticker") or symbol
        if not fields.get("date"):
            raise ValueError(f"line {number}: there is no 'date'")
        if min(prices) > 0:
            grouped.setdefault(name, []).append((fields["date"], prices, volume))
    return tuple(_ohlcv(name, quotes) for name, quotes in grouped.items())


def _ohlcv(symbol: str, quotes: Sequence[tuple[str, tuple[float, ...], int]]) -> QuoteSeries:
    prices = np.array([quote[1] for quote in quotes], dtype=np.float64)
    prices.setflags(write=False)
    numbers: dict[str, Column] = {name: prices[:, index] for index, name in enumerate(PRICES)}
    numbers[VOLUME] = np.array([quote[2] for quote in quotes], dtype=np.int64)
    numbers[VOLUME].setflags(write=False)
    return stock_series(symbol, numbers, [quote[0] for quote in quotes])


def _number(fields: Mapping[str, str], name: str, line: int) -> float:
    if name not in fields:
        raise ValueError(f"line {line}: there is no column {name!r}")
    try:
        value = float(fields[name])
    except (TypeError, ValueError):
        raise ValueError(f"line {line}: {name} is not a number: {fields[name]!r}") from None
    if not abs(value) <= LARGEST_NUMBER:
        raise ValueError(f"line {line}: {name} is not a number up to {LARGEST_NUMBER:g}: {fields[name]!r}")
    return value
