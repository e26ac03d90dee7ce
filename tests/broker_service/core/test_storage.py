"""Stable storage: a file that behaves as a dictionary, and survives a crash at any byte of its log."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker_service.core.storage import MOST_LOGGED, BoundedStorage, FileStorage, StorageFullError

KEYS = st.sampled_from(["a", "b", "c", "log:1", "log:2", "ä\x00 "])
CHANGES = st.lists(st.tuples(KEYS, st.none() | st.binary(max_size=20) | st.just(b"x" * 9000)), max_size=30)
"""Values to be stored, and None for keys to be erased."""
BOUNDS = st.sampled_from([1, 100, 20_000, MOST_LOGGED])
"""Bytes of changes after which values move to their own table: with every commit, with some, or never."""


def change(storage: BoundedStorage, key: str, value: bytes | None) -> None:
    if value is None:
        storage.erase(key)
    else:
        storage.store(key, value)


@given(CHANGES, st.sets(st.integers(0, 30)), BOUNDS)
@settings(max_examples=100, deadline=None)
def test_a_file_is_a_dictionary_that_survives_incarnations(
    changes: list[tuple[str, bytes | None]], restarts: set[int], most_logged: int
) -> None:
    with TemporaryDirectory() as directory:
        path, expected = Path(directory) / "stored", BoundedStorage({}, 1 << 20)
        file = FileStorage(path, most_logged)
        for number, (key, value) in enumerate(changes):
            change(expected, key, value)
            change(BoundedStorage(file, 1 << 20), key, value)
            if number in restarts:
                file.close()
                file = FileStorage(path, most_logged)
            elif number % 3 == 0:
                file.commit()
            assert list(file.items()) == list(expected.values.items())
            assert len(file) == len(expected.values)
        file.close()


@given(CHANGES, st.integers(1, 5), BOUNDS, st.data())
@settings(max_examples=100, deadline=None)
def test_a_log_torn_at_any_byte_gives_the_state_after_some_commit(
    changes: list[tuple[str, bytes | None]], together: int, most_logged: int, data: st.DataObject
) -> None:
    with TemporaryDirectory() as directory:
        path, crashed = Path(directory) / "stored", Path(directory) / "crashed"
        file = FileStorage(path, most_logged)
        storage, states = BoundedStorage(file, 1 << 30), [dict[str, bytes]()]
        expected = BoundedStorage({}, 1 << 30)
        for number, (key, value) in enumerate(changes):
            change(storage, key, value)
            change(expected, key, value)
            if number % together == together - 1:
                storage.commit()
                states.append(dict(expected.values))
        storage.commit()
        states.append(dict(expected.values))
        log = path.with_name("stored-wal")
        if log.exists():
            written = log.read_bytes()
            end = data.draw(st.integers(0, len(written)))
            shutil.copy(path, crashed)
            crashed.with_name("crashed-wal").write_bytes(written[:end])
            found = FileStorage(crashed)
            assert dict(found) in states
            if end == len(written):
                assert dict(found) == states[-1]
            found["after the crash"] = b"works"
            found.close()
        file.close()


def test_changes_are_in_the_file_once_they_are_committed(tmp_path: Path) -> None:
    file = FileStorage(tmp_path / "stored")
    storage = BoundedStorage(file, 1 << 20)
    storage.store("a", b"1")
    storage.store("b", b"2")
    storage.erase("a")
    storage.store("a", b"3")
    assert not (tmp_path / "stored").exists()
    storage.commit()
    for copied in ("stored", "stored-wal"):
        shutil.copy(tmp_path / copied, tmp_path / copied.replace("stored", "crashed"))
    assert list(FileStorage(tmp_path / "crashed").items()) == [("b", b"2"), ("a", b"3")]


def test_many_changes_do_not_wait_for_a_commit(tmp_path: Path) -> None:
    file = FileStorage(tmp_path / "stored")
    for number in range(1_001):
        file[str(number)] = b"value"
    shutil.copy(tmp_path / "stored", tmp_path / "crashed")
    shutil.copy(tmp_path / "stored-wal", tmp_path / "crashed-wal")
    assert len(FileStorage(tmp_path / "crashed")) == 1_000


def test_the_file_does_not_grow_with_values_that_are_replaced_or_erased(tmp_path: Path) -> None:
    file = FileStorage(tmp_path / "stored", most_logged=1 << 16)
    for number in range(1_000):
        file["replaced"] = bytes(10_000)
        file[f"erased {number}"] = bytes(10_000)
        file.commit()
        del file[f"erased {number}"]
    file.close()
    assert sum(part.stat().st_size for part in tmp_path.iterdir()) < 10 << 16
    assert dict(FileStorage(tmp_path / "stored")) == {"replaced": bytes(10_000)}


def test_values_in_their_own_table_take_no_memory(tmp_path: Path) -> None:
    file, value = FileStorage(tmp_path / "stored", most_logged=1 << 16), bytes(1 << 16)
    references = sys.getrefcount(value)
    file["a"] = value
    file.commit()
    assert sys.getrefcount(value) == references
    assert file["a"] == value


def test_what_cannot_be_written_is_an_error_and_waits_on(tmp_path: Path) -> None:
    file = FileStorage(tmp_path / "stored")
    file["a"] = b"1"
    (tmp_path / "stored").mkdir()
    with pytest.raises(OSError, match="cannot open the stable storage"):
        file.commit()
    (tmp_path / "stored").rmdir()
    file.commit()
    assert file["a"] == b"1"


def test_nothing_is_made_before_a_value_is_stored(tmp_path: Path) -> None:
    file = FileStorage(tmp_path / "stored")
    BoundedStorage(file, 100).erase("a")
    assert (dict(file), list(tmp_path.iterdir())) == ({}, [])


def test_a_file_that_is_no_storage_is_an_error_of_the_start(tmp_path: Path) -> None:
    (tmp_path / "stored").write_bytes(b"something else" * 1000)
    with pytest.raises(OSError, match="cannot open the stable storage: file is not a database"):
        FileStorage(tmp_path / "stored")


def test_the_bound_counts_keys_and_values_and_what_is_replaced() -> None:
    values = {"a": b"1234"}
    storage = BoundedStorage(values, 10)
    storage.store("b", b"1234")
    with pytest.raises(StorageFullError, match=r"storing 'b' takes 11 bytes of stable storage, which holds 10"):
        storage.store("b", b"12345")
    assert values == {"a": b"1234", "b": b"1234"}
    storage.erase("a")
    storage.store("b", b"123456789")
    with pytest.raises(StorageFullError):
        storage.store("", b"1")
    assert values == {"b": b"123456789"}


WRITER = """
import itertools, sys
from pathlib import Path
from broker_service.core.storage import FileStorage
storage = FileStorage(Path(sys.argv[1]))
for number in itertools.count():
    storage["number"] = b"%d" % number
    storage["padding"] = b"x" * 5000
    storage.commit()
    print(number, flush=True)
"""


def test_a_process_that_is_killed_has_kept_all_that_it_committed(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path / "stored")], stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        while (stored := int(writer.stdout.readline())) < 2000:
            pass
        writer.send_signal(signal.SIGKILL)
        stored = max([stored, *(int(line) for line in writer.stdout)])
    assert int(FileStorage(tmp_path / "stored")["number"]) in {stored, stored + 1}
