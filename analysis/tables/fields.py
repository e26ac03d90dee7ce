"""Structs made of others: numbers that stand in several results are named where each is declared, and nowhere else."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

_Target = TypeVar("_Target", bound=msgspec.Struct)


def made_of(target: type[_Target], *sources: object, **given: Any) -> _Target:
    """A struct whose fields are those given, and of the others what the first source that has such an attribute says.

    A field that nobody has keeps its default. Raises `TypeError` for one that has none.
    """
    found = {
        name: getattr(source, name)
        for name in target.__struct_fields__
        for source in reversed(sources)
        if hasattr(source, name)
    }
    return target(**(found | given))
