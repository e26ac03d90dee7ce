"""Stable storage of a broker's router: values by keys, which outlive the broker process.

1. `Store` and `Erase` take effect one after another, each whole or not at all, before anything that the actions behind
   them send leaves the broker. The file takes them together, in one transaction (`commit`), because a transaction for
   each costs more than all other work on a publication.
2. Values survive the end of the process, `kill -9` included. They do not survive the end of the host, because nothing
   is forced to its disk: the systems under test are emulated, and so are the crashes of their machines.
3. The file is a database of SQLite in write-ahead mode. Its log is append-only with checksums; a torn tail is ignored
   when the next incarnation opens it, and SQLite moves the log's content into the database before the log gets long.
4. Keys come in the order in which they were stored first, as those of a dictionary do. The simulator keeps a dictionary
   in place of the file.
"""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    import sqlite3

_SETTINGS = (
    "PRAGMA locking_mode = EXCLUSIVE",  # before the next one: the log needs no shared memory then
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = OFF",
    "CREATE TABLE IF NOT EXISTS stored (number INTEGER PRIMARY KEY, key TEXT UNIQUE NOT NULL, value BLOB NOT NULL)",
)
_STORE = "INSERT INTO stored (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value"
_ERASE = "DELETE FROM stored WHERE key = ?"
_MOST_WAITING: Final = 1_000
"""Changes that wait for a commit; the next one is preceded by it."""


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

    def commit(self) -> None:
        """Makes all changes so far last. A dictionary has them already; it lasts as long as the simulation."""
        if isinstance(self.values, FileStorage):
            self.values.commit()


class _Change(NamedTuple):
    """A change that waits for the commit."""

    key: str
    value: bytes | None
    """None: the key is erased."""


def _erases(change: _Change) -> bool:
    return change.value is None


class FileStorage(MutableMapping[str, bytes]):
    """Values in a file, which is made when the first one is stored. They are read from the file each time."""

    def __init__(self, path: Path) -> None:
        """Raises `OSError` when there is a file that cannot be read."""
        self._path = path
        self._database = _open(path) if path.exists() else None
        self._waiting: list[_Change] = []
        self._keys = dict.fromkeys(key for (key,) in self._rows("SELECT key FROM stored ORDER BY number"))
        """The keys of all values, those that wait included."""

    def close(self) -> None:
        """Raises `OSError` when what waits cannot be written."""
        self.commit()
        if self._database is not None:
            self._database.close()
            self._database = None

    def commit(self) -> None:
        """Makes all changes so far last, together. Raises `OSError` when they cannot be written; they wait on then."""
        if not self._waiting:
            return
        if self._database is None:
            self._database = _open(self._path)
        import sqlite3  # noqa: PLC0415 - as in `_open`

        try:
            with self._database:
                self._database.execute("BEGIN")
                for erases, changes in groupby(self._waiting, _erases):
                    if erases:
                        self._database.executemany(_ERASE, [(change.key,) for change in changes])
                    else:
                        self._database.executemany(_STORE, changes)
        except sqlite3.Error as error:
            raise OSError(f"cannot write the stable storage: {error}: {self._path}") from error
        self._waiting.clear()

    def __getitem__(self, key: str) -> bytes:
        if key not in self._keys:
            raise KeyError(key)
        self.commit()
        value: bytes = self._rows("SELECT value FROM stored WHERE key = ?", key)[0][0]
        return value

    def __setitem__(self, key: str, value: bytes) -> None:
        self._change(_Change(key, value))
        self._keys[key] = None

    def __delitem__(self, key: str) -> None:
        del self._keys[key]
        self._change(_Change(key, None))

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._keys))

    def __len__(self) -> int:
        return len(self._keys)

    def _change(self, change: _Change) -> None:
        if len(self._waiting) >= _MOST_WAITING:
            self.commit()
        self._waiting.append(change)

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
