"""Folders in which brokers make more than they need."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from broker_service.core.storage import FileStorage
from emulation.run.folder_watch import MOST_FILES, FolderWatch
from record.errors import BrokerDefectError


def many(folder: Path) -> None:
    for number in range(MOST_FILES + 1):
        (folder / str(number)).touch()


def nested(folder: Path) -> None:
    (folder / "further").mkdir()


@pytest.mark.parametrize(("made", "found"), [(many, "more than 64 files"), (nested, "a folder")])
def test_a_broker_that_makes_too_much_is_named(tmp_path: Path, made: Callable[[Path], None], found: str) -> None:
    watch = FolderWatch({f"B{number}": (tmp_path / f"B{number}", tmp_path / "none") for number in range(1, 121)})
    for number in range(1, 121):
        (tmp_path / f"B{number}").mkdir()
    for _ in range(5):
        watch.look()
    made(tmp_path / "B7")
    with pytest.raises(BrokerDefectError, match=f"broker B7 has made {found} in its folder"):
        for _ in range(3):
            watch.look()


def test_stable_storage_is_not_too_much(tmp_path: Path) -> None:
    storage = FileStorage(tmp_path / "stored.sqlite", most_logged=100)
    watch = FolderWatch({"B1": (tmp_path,)})
    for number in range(100):
        storage[f"{number % 7}"] = bytes(50)
        storage.commit()
        watch.look()
    storage.close()


def test_a_link_in_place_of_a_folder_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/")
    with pytest.raises(OSError, match=r"Not a directory|Too many levels"):
        FolderWatch({"B1": (tmp_path / "link",)}).look()
