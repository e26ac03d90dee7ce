"""The digest of a program's sources."""

from __future__ import annotations

from pathlib import Path

import pytest

from record.program import digest_of_sources

SOURCES = {"record/a.py": "1", "broker_service/routing/b.py": "2"}


def digest(tree: Path, files: dict[str, str]) -> str:
    for name, content in files.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(content)
    return digest_of_sources(tree)


@pytest.mark.parametrize(
    ("files", "same"),
    [
        (SOURCES, True),
        (SOURCES | {"record/a.so": "x", "emulation/c.py": "3", "record/__pycache__/a.pyc": "x"}, True),
        (SOURCES | {"record/a.py": "2"}, False),
        (SOURCES | {"record/c.py": ""}, False),
        ({"record/a.py": "1", "broker_service/b.py": "2"}, False),
    ],
)
def test_the_sources_alone_make_the_digest(tmp_path: Path, files: dict[str, str], same: bool) -> None:
    assert (digest(tmp_path / "other", files) == digest(tmp_path / "one", SOURCES)) is same
