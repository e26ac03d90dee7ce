"""Stable storage of a broker's router: values by keys, which outlive the broker process.

1. `Store` and `Erase` take effect one after another, each whole or not at all, before anything that the actions behind
   them send leaves the broker. The file takes them together, in one transaction (`commit`), because a transaction for
   each costs more than all other work on a publication.
2. Values survive the end of the process, `kill -9` included. They do not survive the end of the host, because nothing
   is forced to its disk: the systems under test are emulated, and so are the crashes of their machines.
3. The file is a database of SQLite in write-ahead mode, which ignores a torn tail when the next incarnation opens it. A
   commit is one row of the table `logged`, which holds all changes of that commit, because a row for each value would
   cost several times as much. Once the table has `MOST_LOGGED` bytes, the values that are left of it move to the table
   `stored`. Most never do, because a publication is stored for a fraction of a second.
4. Keys come in the order in which they were stored first, as those of a dictionary do. The simulator keeps a dictionary
   in place of the file.
"""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

if TYPE_CHECKING:
    import sqlite3

MOST_LOGGED: Final = 4 << 20
"""Bytes of changes after which values move to their own table; until then they are in memory, too."""
_MOST_WAITING: Final = 1_000
"""Changes that wait for a commit; the next one is preceded by it."""

_SETTINGS = (
    "PRAGMA locking_mode = EXCLUSIVE",  # before the next one: the log needs no shared memory then
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = OFF",
    "CREATE TABLE IF NOT EXISTS stored (number INTEGER PRIMARY KEY, key TEXT UNIQUE NOT NULL, value BLOB NOT NULL)",
    "CREATE TABLE IF NOT EXISTS logged (number INTEGER PRIMARY KEY, changes BLOB NOT NULL)",
)
_LOG = "INSERT INTO logged (changes) VALUES (?)"
_STORE = "INSERT INTO stored (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value"
_ERASE = "DELETE FROM stored WHERE key = ?"


class StorageFullError(Exception):
    """A router stores more than `limits.stored_bytes`."""


class BoundedStorage:
    """The stable storage of one incarnation of a broker."""

    def __init__(self, values: MutableMapping[str, bytes], most_bytes: int) -> None:
        """`values` are those that former incarnations stored; `most_bytes` bounds keys and values together."""
        self.values = values
        self.changed = False
        """True when something was stored or erased since the last commit."""
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
        self.changed = True

    def erase(self, key: str) -> None:
        """Does nothing when nothing is stored under the key."""
        if key in self._sizes:
            del self.values[key]
            self._bytes -= self._sizes.pop(key)
            self.changed = True

    def commit(self) -> None:
        """Makes all changes so far last. A dictionary has them already; it lasts as long as the simulation."""
        if isinstance(self.values, FileStorage):
            self.values.commit()
        self.changed = False


_Change = tuple[str, bytes | None]
"""A key and its new value; None: the key is erased."""
_encode_changes = msgspec.msgpack.Encoder().encode
_decode_changes = msgspec.msgpack.Decoder(list[_Change]).decode


class FileStorage(MutableMapping[str, bytes]):
    """Values in a file, which is made when the first one is stored (rule 3)."""

    def __init__(self, path: Path, most_logged: int = MOST_LOGGED) -> None:
        """Raises `OSError` when there is a file that cannot be read."""
        self._path = path
        self._most_logged = most_logged
        self._database = _open(path) if path.exists() else None
        self._waiting: list[_Change] = []
        """Changes that wait for a commit."""
        self._logged = 0
        """Bytes of the changes in the table `logged`."""
        self._keys = dict.fromkeys((key for (key,) in self._rows("SELECT key FROM stored ORDER BY number")), True)
        """The keys of all values; true for one that has a row in the table `stored`, perhaps of a former value."""
        self._recent: dict[str, bytes] = {}
        """The values that are not in the table `stored`."""
        self._erased: set[str] = set()
        """Keys whose row in the table `stored` is to be deleted, because they were erased since; a key that was stored
        again gets another row."""
        for (changes,) in self._rows("SELECT changes FROM logged ORDER BY number"):
            self._logged += len(changes)
            for change in _decode_changes(changes):
                self._note(change)

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

        changes = _encode_changes(self._waiting)
        try:
            self._database.execute(_LOG, (changes,))
            self._waiting.clear()
            self._logged += len(changes)
            if self._logged >= self._most_logged:
                self._move(self._database)
        except sqlite3.Error as error:
            raise OSError(f"cannot write the stable storage: {error}: {self._path}") from error

    def __getitem__(self, key: str) -> bytes:
        if key not in self._keys:
            raise KeyError(key)
        recent = self._recent.get(key)
        if recent is not None:
            return recent
        value: bytes = self._rows("SELECT value FROM stored WHERE key = ?", key)[0][0]
        return value

    def __setitem__(self, key: str, value: bytes) -> None:
        self._change((key, value))

    def __delitem__(self, key: str) -> None:
        if key not in self._keys:
            raise KeyError(key)
        self._change((key, None))

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._keys))

    def __len__(self) -> int:
        return len(self._keys)

    def _change(self, change: _Change) -> None:
        if len(self._waiting) >= _MOST_WAITING:
            self.commit()
        self._waiting.append(change)
        self._note(change)

    def _note(self, change: _Change) -> None:
        """Has keys and values in memory follow a change."""
        key, value = change
        if value is not None:
            self._keys.setdefault(key, False)
            self._recent[key] = value
            return
        if self._keys.pop(key):
            self._erased.add(key)
        self._recent.pop(key, None)

    def _move(self, database: sqlite3.Connection) -> None:
        """Moves the effect of all logged changes to the table `stored`."""
        with database:
            database.execute("BEGIN")
            database.executemany(_ERASE, [(key,) for key in self._erased])
            database.executemany(_STORE, self._recent.items())
            database.execute("DELETE FROM logged")
        self._keys |= dict.fromkeys(self._recent, True)
        self._recent.clear()
        self._erased.clear()
        self._logged = 0

    def _rows(self, statement: str, *arguments: str) -> list[Any]:
        return [] if self._database is None else self._database.execute(statement, arguments).fetchall()


def _open(path: Path) -> sqlite3.Connection:
    """Opens the database, and makes it where there is none. Raises `OSError`."""
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
