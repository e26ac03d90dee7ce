"""References to routers' programs: the names by which brokers and scenarios know them."""

from __future__ import annotations

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


def reference_from_command_line(text: str, directory: Path) -> str | None:
    """The reference to a program that a command line names, by its path or as `program:COMMAND`.

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
    """The name of a program's own file, or of what is started where none is named."""
    return next(iter(own_paths(argv)), Path(argv[0])).name


def _beside(argument: str, directory: Path) -> str:
    """An argument; one that begins as a path is absolute."""
    return os.path.normpath(directory.absolute() / argument) if argument.startswith(("./", "../")) else argument
