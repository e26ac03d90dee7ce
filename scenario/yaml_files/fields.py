"""Fields of a scenario by dotted paths, the form in which `--set` and `vary` name them."""

from __future__ import annotations

from typing import Any

FieldPath = tuple[str | int, ...]

MOST_PARTS = 32
"""Names in a dotted path."""


def dotted(path: FieldPath) -> str:
    """The path as people write it: `("workload", "operations", 0, "at")` is `workload.operations[0].at`."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.removeprefix(".")


def set_field(data: Any, path: str, value: Any) -> None:
    """Sets the field at a dotted path in nested mappings and lists, and creates the mappings that are missing.

    Raises `ValueError` when the path leads through something that has no fields.
    """
    parts = path.split(".")
    if parts[0] == "vary" and len(parts) > 2:
        parts[1:] = [".".join(parts[1:])]  # the fields of `vary` are dotted paths themselves
    if len(parts) > MOST_PARTS:
        raise ValueError(f"a field's path has {MOST_PARTS} parts at most, not {len(parts):,}")
    if not all(parts):
        raise ValueError(f"{path!r} is not a dotted path such as routing.publications")
    container = data
    for depth, part in enumerate(parts):
        last = depth == len(parts) - 1
        if isinstance(container, dict):
            if last:
                container[part] = value
            elif container.get(part) is None:
                container[part] = {}
            container = container[part]
        elif isinstance(container, list):
            if not (part.isascii() and part.isdigit() and int(part) < len(container)):
                raise ValueError(f"{'.'.join(parts[:depth])} is a list of {len(container)}; {part!r} is not in it")
            if last:
                container[int(part)] = value
            container = container[int(part)]
        else:
            raise ValueError(f"{'.'.join(parts[:depth])} is the value {container!r} and has no field {part!r}")
