"""Sources of quotes: the package, the bootstrap, and the user's files."""

from __future__ import annotations

import tarfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scenario.model import Scenario
from scenario.sections.workload import QuoteFile
from scenario.workload.generate import generate
from scenario.workload.quotes import sources
from scenario.workload.quotes.bootstrap import bootstrap, extended, lacking_for_more
from scenario.workload.quotes.series import QuoteSeries, real_quotes
from scenario.workload.quotes.sources import read_quotes
from scenario.workload.streams import numeric_stream
from scenario.yaml_files.errors import ScenarioError

ARCHIVE = Path("../shared/data/stockquotes.tar.gz")


@pytest.fixture(scope="module")
def real() -> tuple[QuoteSeries, ...]:
    return real_quotes()


def consistent(series: QuoteSeries) -> bool:
    """Prices of one day fit together."""
    open_, high, low, close = (series.numbers[name] for name in ("open", "high", "low", "close"))
    inside = (low <= np.minimum(open_, close)) & (np.maximum(open_, close) <= high)
    return bool(inside.all() and low.min() > 0 and series.numbers["volume"].min() >= 0)


def test_real_quotes(real: tuple[QuoteSeries, ...]) -> None:
    assert {series.symbol: len(series) for series in real} == {
        "AAPL": 3270, "FB": 196, "GOOG": 2148, "IBM": 3270, "MSFT": 3270
    }  # fmt: skip
    assert real[0].attributes(0) == {
        "class": "STOCK", "symbol": "AAPL", "open": 118.56, "high": 132.06, "low": 118.5, "close": 130.31,
        "volume": 9616100, "date": "2000-03-01",
    }  # fmt: skip


def volatility(series: QuoteSeries) -> float:
    returns = np.diff(np.log(series.numbers["close"]))
    return float(returns[np.abs(returns) < 0.4].std())


@settings(max_examples=20)
@given(seed=st.integers(0, 1000), index=st.integers(0, 4))
def test_bootstrapped_quotes_are_plausible(real: tuple[QuoteSeries, ...], seed: int, index: int) -> None:
    series = bootstrap(real[index], "NEW", 2000, numeric_stream(seed, "x"))
    assert len(series) == 2000
    assert series.symbol == series.attributes(7)["symbol"] == "NEW"
    assert consistent(series)
    if series.numbers["close"].min() > 5:  # below, whole cents distort returns
        assert volatility(series) == pytest.approx(volatility(real[index]), rel=0.3)


def test_bootstrapped_quotes_have_no_trend(real: tuple[QuoteSeries, ...]) -> None:
    """FB lost a quarter of its worth in the 196 days there are; ten years of that would leave nothing."""
    growth = []
    for seed in range(40):
        close = bootstrap(real[1], "NEW", 2000, numeric_stream(seed, "x")).numbers["close"]
        growth.append(np.log(close[-1] / close[0]))
    assert abs(np.mean(growth)) < 3 * np.std(growth) / np.sqrt(len(growth))


def test_symbols_are_extended_by_bootstrapped_ones(real: tuple[QuoteSeries, ...]) -> None:
    series = extended(real, 12, numeric_stream(1, "x"))
    assert [one.symbol for one in series] == [
        "AAPL", "FB", "GOOG", "IBM", "MSFT",
        "AAPL-2", "FB-2", "GOOG-2", "IBM-2", "MSFT-2", "AAPL-3", "FB-3",
    ]  # fmt: skip
    assert series[0] is real[0]
    assert not np.array_equal(series[5].numbers["close"], series[10].numbers["close"])
    assert [one.symbol for one in extended(real, 2, numeric_stream(1, "x"))] == ["AAPL", "FB"]


PADRES = """\
[class,'STOCK'],[symbol,'A'],[open,1.5],[volume,10],[date,'1-Jan-01']
[class,'STOCK'],[symbol,'B'],[open,3],[volume,30],[date,'1-Jan-01']

[class,'STOCK'],[symbol,'A'],[open,2],[volume,20],[date,'2-Jan-01']
"""
CSV = """\
Date,Open,High,Low,Close,Volume,Symbol
2001-01-01,1,2,0.5,1.5,100,X
2001-01-02,0,0,0,0,0,X
2001-01-03,2,2,2,2,7,Y
"""


def test_padres_file(tmp_path: Path) -> None:
    path = tmp_path / "quotes.txt"
    path.write_text(PADRES)
    a, b = read_quotes(QuoteFile(file=str(path), format="padres"), most=5)
    assert (a.symbol, len(a), b.symbol, len(b)) == ("A", 2, "B", 1)
    assert a.attributes(1) == {
        "class": "STOCK", "symbol": "A", "open": 2.0, "volume": 20, "date": "2-Jan-01"
    }  # fmt: skip
    assert [str(p.operator.value) for p in a.advertisement()] == ["eq", "eq", ">", ">", "isPresent"]
    assert len(read_quotes(QuoteFile(file=str(path), format="padres"), most=1)) == 1


def test_csv_file(tmp_path: Path) -> None:
    path = tmp_path / "quotes.csv"
    path.write_text(CSV)
    x, y = read_quotes(QuoteFile(file=str(path), format="csv"), most=5)
    assert (x.symbol, len(x), y.symbol, len(y)) == ("X", 1, "Y", 1)
    path.write_text(CSV.replace(",Symbol", "").replace(",X", "").replace(",Y", ""))
    (one,) = read_quotes(QuoteFile(file=str(path), format="csv"), most=5)
    assert (one.symbol, len(one)) == ("quotes", 2)


def test_directory_and_archive(tmp_path: Path) -> None:
    directory = tmp_path / "quotes"
    directory.mkdir()
    for symbol in "AB":
        (directory / symbol).write_text("\r\n".join(line for line in PADRES.splitlines() if f"'{symbol}'" in line))
    with tarfile.open(tmp_path / "quotes.tar.gz", "w:gz") as archive:
        archive.add(directory, "quotes")
    for name in ("quotes", "quotes.tar.gz"):
        series = read_quotes(QuoteFile(file=str(tmp_path / name), format="padres"), most=5)
        assert [(one.symbol, len(one)) for one in series] == [("A", 2), ("B", 1)]
        assert len(read_quotes(QuoteFile(file=str(tmp_path / name), format="padres"), most=1)) == 1


@pytest.mark.parametrize(
    ("name", "format", "text", "message"),
    [
        ("q", "padres", "[class,'STOCK']\n", "line 1: a quote needs a string attribute 'symbol'"),
        ("q", "padres", PADRES + "[class,'STOCK'],[symbol,'A'],[open,2]\n", "line 5: other attributes than the first"),
        ("q", "padres", PADRES + "nonsense\n", "line 5, column 1"),
        ("q", "padres", "\n", "there are no quotes in it"),
        ("q", "padres", "[class,'STOCK'],[symbol,'A']\n", "quotes need at least one numeric attribute"),
        (
            "q",
            "padres",
            "[class,'S'],[symbol,'A'],[x,1]\n[class,'S'],[symbol,'B'],[y,1]\n",
            "A and B differ in attributes: x, y",
        ),
        (
            "q",
            "padres",
            "[class,'S'],[symbol,'A'],[x,1]\n[class,'T'],[symbol,'A'],[x,1]\n",
            "quotes of A differ in class",
        ),
        ("q", "csv", "a,b\n1,2\n", "line 2: there is no column 'open'"),
        ("q", "csv", CSV.replace("0.5", "low"), "line 2: low is not a number: 'low'"),
        ("q", "csv", CSV.replace("0.5", "nan"), "line 2: low is not a number up to 1e+15: 'nan'"),
        (
            "x" * 101,
            "csv",
            CSV.replace(",Symbol", "").replace(",X", "").replace(",Y", ""),
            "a symbol of 101 characters",
        ),
        ("q.tar.gz", "csv", "not an archive", "the archive is damaged or not whole: Not a gzipped file"),
    ],
)
def test_bad_quotes(tmp_path: Path, name: str, format: str, text: str, message: str) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(ScenarioError) as raised:
        read_quotes(QuoteFile(file=str(path), format=format), most=5)  # type: ignore[arg-type]
    assert str(raised.value).startswith(f"{path}: ")
    assert message in str(raised.value)


def test_missing_quotes(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="none: cannot be read: No such file or directory"):
        read_quotes(QuoteFile(file=str(tmp_path / "none"), format="csv"), most=1)


def test_a_scenario_on_quotes_of_the_users_own(tmp_path: Path, make_scenario: Callable[..., Scenario]) -> None:
    (tmp_path / "quotes.csv").write_text(CSV)
    source = {"file": str(tmp_path / "quotes.csv"), "format": "csv"}
    scenario = make_scenario(publications={"source": source, "symbols": 3})
    symbols = {o.attributes["symbol"] for o in generate(scenario, scenario.overlay()).operations() if o.attributes}
    assert symbols == {"X", "Y", "X-2"}


@pytest.mark.skipif(not ARCHIVE.exists(), reason=f"{ARCHIVE} is not there")
def test_the_papers_quotes() -> None:
    series = read_quotes(QuoteFile(file=str(ARCHIVE), format="padres"), most=2)
    assert len(series) == 2
    assert all(set(one.numbers) == {"open", "high", "low", "close", "volume"} for one in series)
    assert all(len(one) > 500 for one in series)


def test_further_series_are_not_made_of_quotes_without_prices(tmp_path: Path) -> None:
    (tmp_path / "q").write_text("[class,'STOCK'],[symbol,'A'],[open,5]\n" * 3)
    series = read_quotes(QuoteFile(file=str(tmp_path / "q"), format="padres"), most=5)
    assert lacking_for_more(series) == "high"
    assert lacking_for_more(real_quotes()) == ""


def test_so_many_quotes_are_refused_before_they_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "MOST_QUOTES", 4)
    (tmp_path / "quotes").mkdir()
    for symbol in "AB":
        (tmp_path / "quotes" / symbol).write_text(f"[class,'STOCK'],[symbol,'{symbol}'],[open,5]\n" * 3)
    with pytest.raises(ScenarioError, match=r"quotes: B: more than 4 quotes with those before"):
        read_quotes(QuoteFile(file=str(tmp_path / "quotes"), format="padres"), most=5)
    assert len(read_quotes(QuoteFile(file=str(tmp_path / "quotes"), format="padres"), most=1)) == 1
