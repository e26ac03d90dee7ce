"""References to routers' programs: the names by which brokers and scenarios know them."""

from __future__ import annotations

import hashlib
import os
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

PREFIX: Final = "program:"
"""Beginning of a reference; the rest is the program's argument vector in JSON."""
_OF_THE_SYSTEM = frozenset(
    map(Path, ("/bin", "/boot", "/dev", "/etc", "/lib", "/lib64", "/proc", "/sbin", "/sys", "/usr"))
)
"""Folders of which every system has its own."""


def reference_to(argv: Sequence[str], directory: Path | None = None) -> str:
    """The reference to a program; arguments that begin with `./` or `../` become paths from `directory` on."""
    return PREFIX + msgspec.json.encode([_beside(each, directory or Path()) for each in argv]).decode()


def named_program(text: str, directory: Path) -> str | None:
    """The reference to a program that a text names, by its path from `directory` on or as `program:COMMAND`.

    None for what names a protocol of another kind. Raises `ValueError` for a command that cannot be split.
    """
    if text.startswith(PREFIX):
        words = text.removeprefix(PREFIX)
        return text if words.startswith("[") else reference_to(shlex.split(words), directory)
    path = Path(text)
    if "/" not in text or path.suffix == ".py" or not (directory / path).is_file():
        return None
    return reference_to([str((directory / path).absolute())])


def argv_of(reference: str) -> list[str]:
    """The argument vector of a program. Raises `ValueError` for what is no reference to one."""
    try:
        argv = msgspec.json.decode(reference.removeprefix(PREFIX), type=list[str])
    except msgspec.DecodeError as error:
        raise ValueError(f"{reference} is no reference to a program: {error}") from None
    if not argv:
        raise ValueError("a program needs at least the name of its file")
    return argv


def own_paths(argv: Sequence[str]) -> list[Path]:
    """The arguments that are absolute paths, without those of the system, such as an interpreter's."""
    paths = [path for argument in argv if (path := Path(argument)).is_absolute()]
    return [path for path in paths if _OF_THE_SYSTEM.isdisjoint((path, *path.parents))]


def file_name(argv: Sequence[str]) -> str:
    """The name of the first file that a program's arguments name, or else of the command that they start."""
    return next(iter(own_paths(argv)), Path(argv[0])).name


def digest_of_program(reference: str) -> str:
    """Digest of a program's arguments, and of the files that they name or that are in the folders that they name.

    Equal for equal programs wherever they are; what else a program reads is not in it.
    """
    digest = hashlib.sha256()
    argv = argv_of(reference)
    own = own_paths(argv)
    for argument in argv:
        path = Path(argument)
        digest.update(f"{path.name if path in own else argument}\0".encode())
        if path in own:
            for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
                if file.is_file():
                    digest.update(f"{file.relative_to(path.parent)}\0{file.stat().st_size}\0".encode())
                    digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def _beside(argument: str, directory: Path) -> str:
    """An argument; one that begins as a path is absolute."""
    return os.path.normpath(directory.absolute() / argument) if argument.startswith(("./", "../")) else argument
