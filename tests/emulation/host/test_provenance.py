"""The revision that a manifest states."""

import os
import subprocess
from pathlib import Path

import pytest

from emulation.host import provenance


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tree with one committed file, from which brokerlab is taken to run."""
    (tmp_path / "file").write_text("text")
    for arguments in (["init", "-q"], ["add", "file"], ["commit", "-q", "-m", "Add a file"]):
        identity = ["-c", "user.name=n", "-c", "user.email=n@localhost"]
        subprocess.run(["git", "-C", str(tmp_path), *identity, *arguments], check=True)
    monkeypatch.setattr(provenance, "CODE", tmp_path)
    return tmp_path


def revision_now() -> str | None:
    """The revision as a process is told that has not asked before."""
    return provenance.git_revision.__wrapped__()


def test_a_changed_file_is_marked(repository: Path) -> None:
    revision = revision_now()
    assert revision is not None and len(revision) == 40
    (repository / "file").write_text("other")
    assert revision_now() == f"{revision}+"


def test_the_index_of_the_user_is_not_written(repository: Path) -> None:
    """`git status` would write it, under a lock, because the file's time is no longer the one noted there."""
    index = repository / ".git" / "index"
    before = index.read_bytes()
    os.utime(repository / "file", (1, 1))
    assert revision_now() is not None
    assert index.read_bytes() == before


def test_no_repository_is_no_revision(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(provenance, "CODE", tmp_path)
    assert revision_now() is None
