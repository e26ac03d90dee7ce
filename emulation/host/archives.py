"""Archives for the transfer between hosts: plain files and directories, and nothing outside of one directory.

`tarfile`'s own filters check the same when unpacking, but not in every Python 3.11.
"""

from __future__ import annotations

import os
import tarfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from record.errors import HostError


def pack_directory(directory: Path, archive: Path) -> None:
    """Packs a directory, under its own name, into a compressed tar file."""
    with tarfile.open(archive, "w:gz") as packed:
        packed.add(directory, directory.name)


def unpack_archive(archive: Path, directory: Path) -> None:
    """Unpacks a tar file, compressed or not, into a directory; its files get this user as owner.

    Raises `HostError` if it cannot be read, or holds anything but files and directories below `directory`.
    """
    try:
        with tarfile.open(archive) as packed:
            packed.extractall(directory, members=_harmless(packed, archive))  # noqa: S202 - checked one by one
    except (tarfile.TarError, EOFError, OSError) as error:
        raise HostError(f"{archive}: cannot be unpacked: {error}") from error


def _harmless(packed: tarfile.TarFile, archive: Path) -> Iterator[tarfile.TarInfo]:
    for member in packed:
        path = PurePosixPath(member.name)
        if path.is_absolute() or ".." in path.parts or not (member.isfile() or member.isdir()):
            raise HostError(
                f"{archive}: {member.name} is a link, a device or a path that leads out of it; only plain files "
                "and directories are unpacked"
            )
        member.uid, member.gid, member.uname, member.gname = os.geteuid(), os.getegid(), "", ""
        member.mode &= 0o755
        yield member
