"""Structs made of others, so that numbers that occur in several results are named once, in their declarations."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

_Target = TypeVar("_Target", bound=msgspec.Struct)


def struct_from(target: type[_Target], *sources: object, **given: Any) -> _Target:
    """A struct with the fields given; every other field comes from the first source that has an attribute of its name.

    A field that no source has keeps its default. Raises `TypeError` for one without a default.
    """
    found = {
        name: getattr(source, name)
        for name in target.__struct_fields__
        for source in reversed(sources)
        if hasattr(source, name)
    }
    return target(**(found | given))
