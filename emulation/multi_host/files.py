"""Packs the files that a scenario reads, and its protocols from outside, for hosts that do not have them."""

from __future__ import annotations

import tarfile
from collections.abc import Container, Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from emulation.multi_host.model import GivenCode
from emulation.runtimes.protocol_code import given_code

DIRECTORY = "files"
"""The directory beside `share.json`, on the host, into which they are unpacked."""


def pack_files(value: Any, protocols: Iterable[str], archive: Path) -> tuple[Any, dict[str, GivenCode]]:
    """Packs the files of a scenario (plain JSON with absolute paths) and the code of protocols into `archive`.

    Returns the scenario with paths that are relative to the directory in which the archive is unpacked, and the places
    of the protocols by their references, which stay as they are, because people know them by these.

    Without files no archive is written. Raises `OSError` for a file that cannot be read.
    """
    taken: dict[Path, str] = {}
    with TemporaryDirectory() as directory:
        given = _given(protocols, Path(directory), taken)
        portable = _portable(value, given.keys(), taken)
        if taken:
            with tarfile.open(archive, "w:gz") as packed:
                for path, name in taken.items():
                    packed.add(path, name)
    return portable, given


def _given(protocols: Iterable[str], directory: Path, taken: dict[Path, str]) -> dict[str, GivenCode]:
    """Copies the code of each protocol from outside into a folder of its own."""
    given: dict[str, GivenCode] = {}
    for reference in protocols:
        folder = directory / str(len(given))
        if place := given_code(reference, folder):
            taken[folder] = f"{DIRECTORY}/protocols/{folder.name}"
            given[reference] = GivenCode(taken[folder], place)
    return given


def _portable(value: Any, kept: Container[str], taken: dict[Path, str]) -> Any:
    """Replaces the paths but for those `kept`. Loaded scenarios have absolute ones, and no other text in them is the
    path of a file."""
    match value:
        case dict():
            return {key: _portable(field, kept, taken) for key, field in value.items()}
        case list():
            return [_portable(item, kept, taken) for item in value]
        case str() if value in kept:
            return value
        case str() if value.startswith("/") and (path := Path(value)).exists():
            return taken.setdefault(path, f"{DIRECTORY}/{len(taken)}/{path.name}")
        case _:
            return value
