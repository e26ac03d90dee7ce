"""Archives from elsewhere: what is plain is unpacked, what would leave the directory is refused."""

from __future__ import annotations

import io
import os
import tarfile
from pathlib import Path

import pytest

from emulation.host.archives import unpack_archive
from record.errors import HostError


def pack(path: Path, *members: tarfile.TarInfo) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for member in members:
            member.size = 3 if member.isfile() else 0
            archive.addfile(member, io.BytesIO(b"abc"))
    return path


def member(name: str, type: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    made = tarfile.TarInfo(name)
    made.type, made.linkname, made.uid, made.mode = type, link, 4711, 0o6777
    return made


def test_files_and_directories_are_unpacked_for_this_user(tmp_path: Path) -> None:
    archive = pack(tmp_path / "run.tar.gz", member("logs", tarfile.DIRTYPE), member("logs/B1.jsonl"))
    unpack_archive(archive, tmp_path / "here")
    found = tmp_path / "here" / "logs" / "B1.jsonl"
    assert found.read_bytes() == b"abc"
    assert (found.stat().st_uid, found.stat().st_mode & 0o7777) == (os.geteuid(), 0o755)


@pytest.mark.parametrize(
    "hostile",
    [
        member("../outside"), member("/outside"), member("a/../../outside"),
        member("link", tarfile.SYMTYPE, "/etc/passwd"), member("hard", tarfile.LNKTYPE, "/etc/passwd"),
        member("pipe", tarfile.FIFOTYPE), member("device", tarfile.CHRTYPE),
    ],
    ids=lambda hostile: hostile.name,
)  # fmt: skip
def test_what_is_not_plain_is_refused(tmp_path: Path, hostile: tarfile.TarInfo) -> None:
    archive = pack(tmp_path / "run.tar.gz", member("fine"), hostile)
    with pytest.raises(HostError, match="is a link, a device or a path that leads out"):
        unpack_archive(archive, tmp_path / "here")
    assert not (tmp_path / "outside").exists()


def test_a_torn_archive_is_told(tmp_path: Path) -> None:
    whole = pack(tmp_path / "run.tar.gz", member("B1.jsonl")).read_bytes()
    torn = tmp_path / "torn.tar.gz"
    torn.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(HostError, match=r"torn\.tar\.gz: cannot be unpacked"):
        unpack_archive(torn, tmp_path / "here")
