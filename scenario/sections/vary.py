"""The `vary` field: what differs between the variants of a scenario.

Each entry is an axis, and there is a variant for every combination of the axes' choices. There are two forms:

1. A dotted path of a field, with a list or a mapping of named values: `routing.publications: [fixed, dynamic]`.
2. A name that is no field of a scenario, with a mapping of named settings, each a mapping of dotted paths to values:
   `scheme: {plain: {routing.publications: fixed}, rich: {routing.publications: dynamic, topology.degree: 4}}`. The
   fields of one setting vary together.
"""

from __future__ import annotations

import json
import re
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeGuard

from broker_service.routing.outside import label
from broker_service.routing.program.references import reference_to
from scenario.sections.protocol_references import PROGRAM, PROTOCOL
from scenario.yaml_files.fields import FieldPath

MOST_VARIANTS = 256
"""A bound on combinations, because each variant is a run of its own."""

VARY_SCHEMA = {
    "type": "object",
    "additionalProperties": {"type": ["array", "object"], "minItems": 1, "minProperties": 1},
}
"""The JSON Schema of the field."""
_FIXED = ("vary", "name", "description")
"""Fields that no variant may change."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One choice of an axis."""

    name: str
    """Part of a variant's name that stands for the choice."""
    settings: Mapping[str, Any]
    """Values by the dotted paths of their fields."""
    places: Mapping[str, FieldPath]
    """Place of each setting in the file, for messages, by its dotted path."""


def axes(vary: Mapping[str, Any], fields: Container[str]) -> list[list[Choice]]:
    """The choices of each axis, in the order written; `fields` are those of a scenario. Raises `ValueError`."""
    found = []
    owners: dict[str, str] = {}
    for key, values in vary.items():
        if not isinstance(values, list | dict) or not values:
            raise ValueError(f"{key} needs values: a list `[first, second]`, or `{{name: first, other: second}}`")
        if isinstance(values, dict) and (bad := [name for name in values if value_name(name) != name]):
            raise ValueError(f"{key}: {bad[0]!r} cannot be part of a variant's name: use letters, digits, _, . and -")
        choices = list(_joint(key, values, fields) if _sets_together(values, key, fields) else _single(key, values))
        for path in dict.fromkeys(path for choice in choices for path in choice.settings):
            if path.split(".")[0] in _FIXED:
                raise ValueError(f"{path} cannot vary; leave it out of `vary`")
            if path in owners:
                raise ValueError(f"{path} varies in both {owners[path]} and {key}; leave one of them out")
            owners[path] = key
        found.append(choices)
    return found


def without(vary: Mapping[str, Any], key: str, fields: Container[str]) -> dict[str, Any]:
    """The entries that still vary when the field at the dotted path `key` has one value only."""
    left: dict[str, Any] = {}
    for axis, values in vary.items():
        if _covers(key, axis):
            continue
        left[axis] = values
        if _sets_together(values, axis, fields):
            left[axis] = {
                name: {path: value for path, value in settings.items() if not _covers(key, path)}
                for name, settings in values.items()
            }
            if not any(left[axis].values()):
                del left[axis]
    return left


def value_name(value: Any) -> str:
    """A value as part of a variant's name, which becomes part of file names and of legends."""
    text = value if isinstance(value, str) else json.dumps(value)
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", text).strip("-") or "empty"


def _sets_together(values: Any, key: str, fields: Container[str]) -> TypeGuard[dict[str, dict[str, Any]]]:
    """True for a name of the user's own with settings, False for the path of a field, misspelt ones included."""
    settings = isinstance(values, dict) and bool(values) and all(isinstance(each, dict) for each in values.values())
    return settings and key.split(".", maxsplit=1)[0] not in fields


def _single(path: str, values: list[Any] | dict[str, Any]) -> Iterator[Choice]:
    named = values.items() if isinstance(values, dict) else ((name_at(path, value), value) for value in values)
    for name, value in named:
        yield Choice(name, {path: value}, {path: ("vary", path)})


def name_at(path: str, value: Any) -> str:
    """The name of a field's value, which for a protocol's file or program is the file's."""
    if path == PROTOCOL and isinstance(value, dict) and isinstance(argv := value.get(PROGRAM), list) and argv:
        value = reference_to(list(map(str, argv)))
    return value_name(label(value) if path == PROTOCOL and isinstance(value, str) else value)


def _joint(key: str, values: Mapping[str, Mapping[str, Any]], fields: Container[str]) -> Iterator[Choice]:
    for name, settings in values.items():
        for path in settings:
            if path.split(".")[0] not in fields:
                raise ValueError(
                    f"{key}.{name}: {path!r} is not a field of a scenario: write dotted paths such as "
                    "routing.protocol, or correct the name of the varied field"
                )
        yield Choice(name, settings, {path: ("vary", key, name, path) for path in settings})


def _covers(key: str, field: str) -> bool:
    return field == key or field.startswith(f"{key}.")
