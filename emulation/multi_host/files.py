"""Packs the files that a scenario reads, for hosts that do not have them."""

from __future__ import annotations

import tarfile
from collections.abc import Container
from pathlib import Path
from typing import Any

DIRECTORY = "files"
"""The directory beside `share.json`, on the host, into which they are unpacked."""


def pack_files(value: Any, kept: Container[str], archive: Path) -> Any:
    """Packs the files of a scenario (plain JSON with absolute paths) into `archive`; returns the scenario with paths
    that are relative to the directory in which the archive is unpacked.

    Paths in `kept` stay as they are, because protocols are known by them, and travel by themselves. Without files no
    archive is written. Raises `OSError` for a file that cannot be read.
    """
    taken: dict[Path, str] = {}
    portable = _portable(value, kept, taken)
    if taken:
        with tarfile.open(archive, "w:gz") as packed:
            for path, name in taken.items():
                packed.add(path, name)
    return portable


def _portable(value: Any, kept: Container[str], taken: dict[Path, str]) -> Any:
    """Replaces the paths. Loaded scenarios have absolute ones, and no other text in them is the path of a file."""
    match value:
        case dict():
            return {key: _portable(field, kept, taken) for key, field in value.items()}
        case list():
            return [_portable(item, kept, taken) for item in value]
        case str() if value not in kept and value.startswith("/") and (path := Path(value)).exists():
            return taken.setdefault(path, f"{DIRECTORY}/{len(taken)}/{path.name}")
        case _:
            return value
