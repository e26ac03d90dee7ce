"""Directories of stable storage: made for a broker's first incarnation, removed with the run or by a clean-up."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from broker_service.config import BrokerConfig
from emulation.host.journal import Journal, Resource, remains
from emulation.host.run_paths import RunPaths
from emulation.runtimes.interface import Launch
from emulation.runtimes.stored import StorageDirectories


def launch(incarnation: int) -> Launch:
    return Launch(config=BrokerConfig(id="B1", incarnation=incarnation, protocol="tid"), config_directory=Path())


def test_storage_lasts_from_a_first_incarnation_to_the_next_first_one(tmp_path: Path) -> None:
    paths = RunPaths.of("run", tmp_path)
    paths.make()
    journal = Journal(paths.journal)
    directories = StorageDirectories(paths, journal)
    directories.provide(launch(1), os.getuid())
    assert list(remains(paths.journal).names[Resource.DIRECTORY]) == [str(paths.storage)]
    assert stat.S_IMODE(paths.stored("B1").stat().st_mode) == 0o700
    (paths.stored("B1") / "file").touch()
    directories.provide(launch(2), os.getuid())
    assert (paths.stored("B1") / "file").exists()
    directories.provide(launch(1), os.getuid())
    assert list(paths.stored("B1").iterdir()) == []
    directories.remove()
    directories.remove()
    assert not paths.storage.exists()
    assert list(remains(paths.journal).names[Resource.DIRECTORY]) == []
    journal.close()
