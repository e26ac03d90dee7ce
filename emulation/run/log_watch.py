"""A watch over the logs of a run while its nodes write them.

A node only ever appends to its log. Looks that are repeated while nodes run, and one after they have ended, find:

1. a log that is gone, or in whose place another file stands,
2. a log that is shorter than it was,
3. an entry of the folder that is no regular file,
4. a log that has reached its quota; the kernel lets a broker write no more than that.

Each log is held open, so that its inode is not given to another file. In the end logs belong to the owner of their
folder, because the number of a broker's user may be given to a broker of a later run.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from record.files import node_of
from scenario.sections.units import SIZE

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_LOG = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@dataclass(slots=True)
class _Watched:
    descriptor: int
    device: int
    inode: int
    size: int = 0


class LogWatch:
    """A watch over the logs of one run. Entering the context takes the first look, leaving it the last one."""

    def __init__(self, logs: Path, quota: int) -> None:
        """`quota` is the number of bytes that a log may have. Raises `OSError` for what is no folder."""
        self._quota = quota
        self._folder = os.open(logs, _FOLDER)
        self._watched: dict[str, _Watched] = {}
        self._found: dict[str, str] = {}

    @property
    def faults(self) -> list[str]:
        """One sentence for each node whose log is not as it should be, on the first fault that was seen."""
        return [f"{node}: {fault}" for node, fault in sorted(self._found.items())]

    def __enter__(self) -> Self:
        self.look()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.look()
        owner = os.fstat(self._folder)
        for watched in self._watched.values():
            os.fchown(watched.descriptor, owner.st_uid, owner.st_gid)
            os.close(watched.descriptor)
        os.close(self._folder)

    def look(self) -> None:
        """Compares the folder with the look before."""
        with os.scandir(self._folder) as entries:
            for entry in entries:
                if entry.name not in self._watched:
                    self._begin(entry.name)
        for name, watched in self._watched.items():
            self._compare(name, watched)

    def _begin(self, name: str) -> None:
        try:
            descriptor = os.open(name, _LOG, dir_fd=self._folder)
        except OSError:
            self._note(name, "what stands in the place of its log is no file")
            return
        now = os.fstat(descriptor)
        if not stat.S_ISREG(now.st_mode):
            os.close(descriptor)
            self._note(name, "what stands in the place of its log is no file")
            return
        self._watched[name] = _Watched(descriptor, now.st_dev, now.st_ino)

    def _compare(self, name: str, watched: _Watched) -> None:
        size = os.fstat(watched.descriptor).st_size
        if size < watched.size:
            self._note(name, f"its log shrank from {watched.size:,} to {size:,} bytes")
        elif size >= self._quota:
            self._note(name, f"its log reached its quota of {SIZE.format(self._quota)} (`logs.quota`)")
        watched.size = size
        try:
            there = os.stat(name, dir_fd=self._folder, follow_symlinks=False)
        except OSError:
            self._note(name, "its log was removed")
            return
        if (there.st_dev, there.st_ino) != (watched.device, watched.inode):
            self._note(name, "its log was replaced by another file")

    def _note(self, name: str, fault: str) -> None:
        self._found.setdefault(node_of(name), fault)
