"""Unix sockets by the files that they are, and not by paths: a link in place of a socket is not followed.

A broker may write the directory of its own socket. Whoever connects to it may do what the broker may not, so a broker
could have it connect to any socket of the host.
"""

from __future__ import annotations

import errno
import os
import stat
from types import TracebackType
from typing import Self


class SocketFile:
    """A Unix socket at a path, as long as a `with` block lasts or until `close`."""

    def __init__(self, path: str) -> None:
        """Raises `OSError` when there is no socket at the path itself."""
        self._descriptor = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
        if not stat.S_ISSOCK(os.fstat(self._descriptor).st_mode):
            self.close()
            raise OSError(errno.ENOTSOCK, "not a socket, or a link to one", path)

    @property
    def address(self) -> str:
        """A path of this very file, whatever becomes of the one by which it was opened."""
        return f"/proc/self/fd/{self._descriptor}"

    def is_at(self, path: str) -> bool:
        """True while the path names this file."""
        try:
            there, this = os.lstat(path), os.fstat(self._descriptor)
        except OSError:
            return False
        return (there.st_dev, there.st_ino) == (this.st_dev, this.st_ino)

    def close(self) -> None:
        os.close(self._descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
