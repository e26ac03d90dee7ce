"""The digest of a plan: the same for all runs that ask for the same, whatever their seed, place and code.

1. Seed, name, description and expectations do not count, because they change nothing that runs, or are what is paired.
2. A file or directory counts by its content, so that a baseline holds in another clone.
3. A protocol of the user's own counts by its name: its code is what a baseline is to tell about.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_WITHOUT_EFFECT = frozenset({"name", "description", "seed", "expect", "search"})
_PROTOCOL = "routing.protocol"
_DIRECTORIES = re.compile(r"/[^\s\"',\[\]]*/")
_SHOWN = 16
"""Hexadecimal digits of a digest."""


def plan_digest(scenario: Mapping[str, Any]) -> str:
    """The digest of a resolved scenario."""
    kept = {field: value for field, value in scenario.items() if field not in _WITHOUT_EFFECT}
    return _digest(json.dumps(_portable(kept, ""), sort_keys=True).encode())


def _portable(value: Any, path: str) -> Any:
    if isinstance(value, Mapping):
        return {key: _portable(each, f"{path}.{key}".removeprefix(".")) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_portable(each, path) for each in value]
    if not isinstance(value, str) or "/" not in value:
        return value
    if _PROTOCOL in path:
        return _DIRECTORIES.sub("", value)
    return _content(Path(value)) if Path(value).is_absolute() else value


def _content(path: Path) -> str:
    """The digest of a file, or of all files of a directory; the path itself where there is none."""
    if path.is_file():
        return _digest(path.read_bytes())
    if path.is_dir():
        files = sorted(file for file in path.rglob("*") if file.is_file())
        return _digest("".join(f"{file.relative_to(path)}={_content(file)};" for file in files).encode())
    return str(path)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:_SHOWN]
