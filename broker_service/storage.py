"""Stable storage of a broker's router: values by keys, which outlive the broker process.

1. `Store` and `Erase` take effect one after another, each whole or not at all, before the actions behind them.
2. Values survive the end of the process, `kill -9` included. They do not survive the end of the host, because nothing
   is forced to its disk: the systems under test are emulated, and so are the crashes of their machines.
3. The file is a database of SQLite in write-ahead mode. Its log is append-only with checksums; a torn tail is ignored
   when the next incarnation opens it, and SQLite moves the log's content into the database before the log gets long.
4. Keys come in the order in which they were stored first, as those of a dictionary do. The simulator keeps a dictionary
   in place of the file.
"""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import sqlite3

_SETTINGS = (
    "PRAGMA locking_mode = EXCLUSIVE",  # before the next one: the log needs no shared memory then
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = OFF",
    "CREATE TABLE IF NOT EXISTS stored (number INTEGER PRIMARY KEY, key TEXT UNIQUE NOT NULL, value BLOB NOT NULL)",
)
_STORE = "INSERT INTO stored (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value"


class StorageFullError(Exception):
    """A router stores more than `limits.stored_bytes`."""


class BoundedStorage:
    """The stable storage of one incarnation of a broker."""

    def __init__(self, values: MutableMapping[str, bytes], most_bytes: int) -> None:
        """`values` are those that former incarnations stored; `most_bytes` bounds keys and values together."""
        self.values = values
        self._most_bytes = most_bytes
        self._sizes = {key: _size(key, value) for key, value in values.items()}
        self._bytes = sum(self._sizes.values())

    def store(self, key: str, value: bytes) -> None:
        """Raises `StorageFullError` when the value does not fit; the former one stays then."""
        size = _size(key, value)
        occupied = self._bytes - self._sizes.get(key, 0) + size
        if occupied > self._most_bytes:
            raise StorageFullError(
                f"storing {key!r} takes {occupied} bytes of stable storage, which holds {self._most_bytes}"
                " (limits.stored_bytes)"
            )
        self.values[key] = value
        self._sizes[key], self._bytes = size, occupied

    def erase(self, key: str) -> None:
        """Does nothing when nothing is stored under the key."""
        if key in self._sizes:
            del self.values[key]
            self._bytes -= self._sizes.pop(key)


class FileStorage(MutableMapping[str, bytes]):
    """Values in a file, which is made when the first one is stored. They are read from the file each time."""

    def __init__(self, path: Path) -> None:
        """Raises `OSError` when there is a file that cannot be read."""
        self._path = path
        self._database = _open(path) if path.exists() else None

    def close(self) -> None:
        if self._database is not None:
            self._database.close()
            self._database = None

    def __getitem__(self, key: str) -> bytes:
        rows = self._rows("SELECT value FROM stored WHERE key = ?", key)
        if not rows:
            raise KeyError(key)
        value: bytes = rows[0][0]
        return value

    def __setitem__(self, key: str, value: bytes) -> None:
        if self._database is None:
            self._database = _open(self._path)
        self._database.execute(_STORE, (key, value))

    def __delitem__(self, key: str) -> None:
        if not self._rows("DELETE FROM stored WHERE key = ? RETURNING number", key):
            raise KeyError(key)

    def __iter__(self) -> Iterator[str]:
        return iter([key for (key,) in self._rows("SELECT key FROM stored ORDER BY number")])

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _rows(self, statement: str, *arguments: str) -> list[Any]:
        return [] if self._database is None else self._database.execute(statement, arguments).fetchall()


def _open(path: Path) -> sqlite3.Connection:
    """Raises `OSError`."""
    import sqlite3  # noqa: PLC0415 - most brokers store nothing, and would start later

    try:
        database = sqlite3.connect(path, isolation_level=None)
        for setting in _SETTINGS:
            database.execute(setting)
    except sqlite3.Error as error:
        raise OSError(f"cannot open the stable storage: {error}: {path}") from error
    return database


def _size(key: str, value: bytes) -> int:
    return len(key.encode()) + len(value)
