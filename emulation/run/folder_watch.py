"""A watch over the folders that brokers may write to: those of their stable storage and of their sockets.

The kernel bounds the size of a broker's file and not the number of its files. A broker whose folder has more than
`MOST_FILES` files, or a folder in it, is stopped with its run, because it would take the inodes of the host.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from itertools import cycle, islice
from pathlib import Path
from typing import Final

from record.errors import BrokerDefectError
from topology.link_properties import BrokerId

MOST_FILES: Final = 64
"""A broker needs four: its socket, and a database with a log and a journal."""
_AT_ONCE: Final = 50
"""Brokers whose folders are looked at together."""
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class FolderWatch:
    """A watch over the folders of one run's brokers."""

    def __init__(self, folders: Mapping[BrokerId, Sequence[Path]]) -> None:
        """`folders` need not be there yet."""
        self._folders = folders
        self._turn = cycle(folders)

    def look(self) -> None:
        """Looks at the folders of the next brokers. Raises `BrokerDefectError` for a broker that makes too much."""
        for broker in islice(self._turn, min(_AT_ONCE, len(self._folders))):
            for folder in self._folders[broker]:
                if found := _fault(folder):
                    raise BrokerDefectError(broker, f"broker {broker} has made {found} in its folder {folder}")


def _fault(folder: Path) -> str:
    """Words for the thing of which a folder has too much; empty when there is none."""
    try:
        descriptor = os.open(folder, _FOLDER)
    except FileNotFoundError:
        return ""
    try:
        with os.scandir(descriptor) as entries:
            for number, entry in enumerate(entries, 1):
                if number > MOST_FILES:
                    return f"more than {MOST_FILES} files"
                if entry.is_dir(follow_symlinks=False):
                    return "a folder"
    finally:
        os.close(descriptor)
    return ""
