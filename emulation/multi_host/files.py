"""Files that a scenario reads, taken along to hosts that do not have them."""

from __future__ import annotations

import tarfile
from pathlib import Path
from typing import Any

DIRECTORY = "files"
"""Beside `part.json`, on the host."""


def take_along(value: Any, archive: Path) -> Any:
    """The scenario (plain JSON with absolute paths) as it holds beside `DIRECTORY`, which is in `archive`.

    No archive is written where there is no file. Raises `OSError` for one that cannot be read.
    """
    taken: dict[Path, str] = {}
    portable = _portable(value, taken)
    if taken:
        with tarfile.open(archive, "w:gz") as packed:
            for path, name in taken.items():
                packed.add(path, name)
    return portable


def _portable(value: Any, taken: dict[Path, str]) -> Any:
    """Loaded scenarios have absolute paths, and nothing else in them begins with a slash and is there."""
    match value:
        case dict():
            return {key: _portable(one, taken) for key, one in value.items()}
        case list():
            return [_portable(one, taken) for one in value]
        case str() if value.startswith("/") and (path := Path(value)).exists():
            return taken.setdefault(path, f"{DIRECTORY}/{len(taken)}/{path.name}")
        case _:
            return value
