"""Code of routing protocols from outside, for brokers that run in processes of their own."""

from __future__ import annotations

import shutil
from pathlib import Path

from broker_service.routing.outside import is_path, source_of
from broker_service.routing.registry import place_of

_READABLE = 0o755


def given_code(reference: str, folder: Path) -> str:
    """Copies the file or package of a protocol from outside into a folder, readable by every user.

    Returns the protocol's place there, as `BrokerConfig.protocol_from`; empty for a built-in protocol.
    """
    place = place_of(reference)
    if place is None:
        return ""
    source = source_of(place)
    target = folder / source.name
    folder.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(
            source, target, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__", ".*"), copy_function=_copy
        )
        for inner in (target, *(path for path in target.rglob("*") if path.is_dir())):
            inner.chmod(_READABLE)
    else:
        _copy(str(source), str(target))
    return source.name if is_path(place) else place


def _copy(source: str, target: str) -> None:
    shutil.copyfile(source, target)
    Path(target).chmod(_READABLE)
