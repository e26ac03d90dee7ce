"""Directories with the stable storage of a run's brokers: one for each, which only the broker's user may read."""

from __future__ import annotations

import os
import shutil

from emulation.host.journal import Journal, Resource
from emulation.host.run_paths import RunPaths
from emulation.runtimes.interface import Launch

STORED_FILE = "stored.sqlite"

_ONLY_OWNER = 0o700


class StorageDirectories:
    """The directories of one run. They outlive broker processes and containers, and are removed with the run."""

    def __init__(self, run_paths: RunPaths, journal: Journal) -> None:
        self._run_paths = run_paths
        self._journal = journal

    def provide(self, launch: Launch, user: int) -> None:
        """Makes a broker's empty directory when its first incarnation starts; later ones find what is stored there.

        It belongs to the user that the broker runs as.
        """
        if launch.config.incarnation > 1:
            return
        self._make_parent()
        directory = self._run_paths.stored(launch.broker)
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir(mode=_ONLY_OWNER)
        os.chown(directory, user, user)

    def remove(self) -> None:
        """Removes all directories."""
        parent = self._run_paths.storage
        if parent.exists():
            shutil.rmtree(parent, ignore_errors=True)
            self._journal.removed(Resource.DIRECTORY, str(parent))

    def _make_parent(self) -> None:
        parent = self._run_paths.storage
        if not parent.exists():
            self._journal.creating(Resource.DIRECTORY, str(parent))
            parent.mkdir()
