"""References to routers' programs: the names by which brokers and scenarios know them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

PREFIX: Final = "program:"
"""Beginning of a reference; the rest is the program's argument vector in JSON."""


def reference_to(argv: Sequence[str]) -> str:
    """The reference to a program."""
    return PREFIX + msgspec.json.encode(list(argv)).decode()


def argv_of(reference: str) -> list[str]:
    """The argument vector of a program. Raises `ValueError` for what is no reference to one."""
    try:
        argv = msgspec.json.decode(reference.removeprefix(PREFIX), type=list[str])
    except msgspec.DecodeError as error:
        raise ValueError(f"{reference} is no reference to a program: {error}") from None
    if not argv:
        raise ValueError("a program needs at least the name of its file")
    return argv
