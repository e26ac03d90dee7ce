"""Quotes from users: PADRES publications or OHLCV tables, in a file, a directory or a .tar.gz of files."""

from __future__ import annotations

import csv
import gzip
import io
import tarfile
import tempfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from itertools import chain
from pathlib import Path
from typing import IO

import numpy as np

from broker_service.language import ContentError, Value
from broker_service.language.notation import parse_publication
from record.files import open_file
from scenario.sections.workload.quotes import QuoteFile
from scenario.workload.quotes.series import LARGEST_NUMBER, Column, QuoteSeries, ohlcv_series
from scenario.yaml_files.errors import ScenarioError

LARGEST_FILE = 32 << 20
"""Bytes of one file, unpacked: half a million quotes."""
LARGEST_ARCHIVE = 256 << 20
"""Bytes of a .tar.gz, unpacked."""
MOST_QUOTES = 500_000
"""Lines of all files that are read, together: twice those of the papers. Reading as many takes a minute."""
LONGEST_SYMBOL = 100
"""Characters of a symbol; without a column for it, it is the name of the file."""
_CHUNK = 1 << 20


def read_quotes(source: QuoteFile, most: int) -> tuple[QuoteSeries, ...]:
    """Series in the order of file names and, within a file, of first quotes; reading stops after `most` symbols.

    Raises `ScenarioError` naming the file and the line.
    """
    path = Path(source.file)
    read = {"padres": _padres, "csv": _csv}[source.format]
    series: dict[str, QuoteSeries] = {}
    name, lines = path.name, 0
    try:
        for name, content in _files(path):
            lines += content.count(b"\n")
            if lines > MOST_QUOTES:
                raise ValueError(f"more than {MOST_QUOTES:,} quotes with those before; leave out symbols or days")
            for quotes in read(Path(name).stem, _text(content)):
                if len(quotes.symbol) > LONGEST_SYMBOL:
                    raise ValueError(f"a symbol of {len(quotes.symbol):,} characters; {LONGEST_SYMBOL} is the most")
                if quotes.symbol in series:
                    raise ValueError(f"quotes of {quotes.symbol} are in another file already")
                series[quotes.symbol] = quotes
            if len(series) >= most:
                break
    except OSError as error:
        raise ScenarioError(f"{path}: cannot be read: {error.strerror or error}") from error
    except (tarfile.TarError, ValueError) as error:
        place = str(path) if name == path.name else f"{path}: {name[:LONGEST_SYMBOL]}"
        raise ScenarioError(f"{place}: {error}") from error
    if not series:
        raise ScenarioError(f"{path}: there are no quotes in it")
    _require_alike(path, list(series.values()))
    return tuple(series.values())[:most]


def _files(path: Path) -> Iterator[tuple[str, bytes]]:
    """The name and content of each file, in the order of names."""
    if path.is_dir():
        for file in sorted(path.iterdir()):
            if file.is_file():
                yield file.name, _bounded(open_file(file))
    elif path.name.endswith((".tar.gz", ".tgz")):
        with _unpacked(path) as unpacked, tarfile.open(fileobj=unpacked, mode="r:") as archive:
            members = sorted(archive.getmembers(), key=lambda member: member.name)
            if odd := [member.name for member in members if not (member.isfile() or member.isdir())]:
                raise ValueError(f"{odd[0]} is neither a file nor a directory; pack the files themselves")
            for member in members:
                content = archive.extractfile(member)
                if content is not None:
                    yield member.name, _bounded(closing(content))
    else:
        yield path.name, _bounded(open_file(path))


@contextmanager
def _unpacked(path: Path) -> Iterator[IO[bytes]]:
    """A temporary file with the archive's bytes: a compressed archive would be read again for each member."""
    with open_file(path) as raw, gzip.open(raw) as packed, tempfile.TemporaryFile() as unpacked:
        try:
            while chunk := packed.read(_CHUNK):
                unpacked.write(chunk)
                if unpacked.tell() > LARGEST_ARCHIVE:
                    raise ValueError(f"larger than {LARGEST_ARCHIVE >> 20} MiB when unpacked")
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise ValueError(f"the archive is damaged or not whole: {error}") from error
        unpacked.seek(0)
        yield unpacked


def _bounded(opened: AbstractContextManager[IO[bytes]]) -> bytes:
    with opened as file:
        content = file.read(LARGEST_FILE + 1)
    if len(content) > LARGEST_FILE:
        raise ValueError(f"larger than {LARGEST_FILE >> 20} MiB, which is the most for one file")
    return content


def _text(content: bytes) -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ValueError(f"line {line}: not UTF-8 text; save it as UTF-8") from error


def _csv(name: str, text: str) -> tuple[QuoteSeries, ...]:
    try:
        return ohlcv_series(csv.DictReader(io.StringIO(text, newline="")), symbol=name)
    except csv.Error as error:
        raise ValueError(f"not a CSV table: {error}") from error


def _padres(_name: str, text: str) -> tuple[QuoteSeries, ...]:
    """Series from lines with one publication each, with a string attribute `symbol` and equal attributes per symbol."""
    grouped: dict[str, list[dict[str, Value]]] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            quote = dict(parse_publication(line.strip()).attributes)
        except ContentError as error:
            raise ValueError(f"line {number}, {str(error).removeprefix('line 1, ')}") from error
        symbol = quote.get("symbol")
        if not isinstance(symbol, str):
            raise ValueError(f"line {number}: a quote needs a string attribute 'symbol'")
        if large := [
            name for name, value in quote.items() if isinstance(value, int | float) and abs(value) > LARGEST_NUMBER
        ]:
            raise ValueError(f"line {number}: {large[0]} is not a number up to {LARGEST_NUMBER:g}")
        quotes = grouped.setdefault(symbol, [])
        if quotes and _types(quotes[0]) != _types(quote):
            raise ValueError(f"line {number}: other attributes than the first quote of {symbol} has")
        quotes.append(quote)
    return tuple(_series(symbol, quotes) for symbol, quotes in grouped.items())


def _series(symbol: str, quotes: Sequence[dict[str, Value]]) -> QuoteSeries:
    constants: dict[str, str] = {}
    numbers: dict[str, Column] = {}
    strings: dict[str, Sequence[str]] = {}
    for name, first in quotes[0].items():
        column = [quote[name] for quote in quotes]
        if not isinstance(first, str):
            whole = all(isinstance(value, int) for value in column)
            numbers[name] = np.array(column, dtype=np.int64) if whole else np.array(column, dtype=np.float64)
        elif name in ("class", "symbol"):
            constants[name] = first
            if column.count(first) != len(column):
                raise ValueError(f"quotes of {symbol} differ in {name}")
        else:
            strings[name] = [str(value) for value in column]
    return QuoteSeries(symbol, constants, numbers, strings)


def _types(quote: dict[str, Value]) -> dict[str, bool]:
    return {name: isinstance(value, str) for name, value in quote.items()}


def _require_alike(path: Path, series: Sequence[QuoteSeries]) -> None:
    """Raises `ScenarioError` unless all symbols have the same numeric attributes, because ranges span all of them."""
    first = series[0]
    if not first.numbers:
        raise ScenarioError(f"{path}: quotes need at least one numeric attribute")
    for other in series:
        if set(other.numbers) != set(first.numbers):
            odd = sorted(set(chain(other.numbers, first.numbers)) - (set(other.numbers) & set(first.numbers)))
            raise ScenarioError(f"{path}: {first.symbol} and {other.symbol} differ in attributes: {', '.join(odd)}")
