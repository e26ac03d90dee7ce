"""What pydantic says of a scenario, in the words of whoever wrote it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from emulation.scenario.fields import FieldPath
from emulation.scenario.section import UNKNOWN_FIELD, suggestion

_CONTAINER_EXPECTED = frozenset({"list_type", "model_type", "dict_type", "tuple_type", "model_attributes_type"})


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong, and the field where it is wrong."""

    path: FieldPath
    message: str


def describe(error: ValidationError, data: Any) -> tuple[Problem, ...]:
    """Each mistake in `data` once, in the order of the fields."""
    details = [(_path(detail, data), detail) for detail in error.errors(include_url=False)]
    kept = [(path, detail) for path, detail in details if not _beside_the_point(path, detail, details)]
    return tuple(dict.fromkeys(Problem(path, _message(detail)) for path, detail in kept))


def _path(detail: ErrorDetails, data: Any) -> FieldPath:
    """The error's place in the file: pydantic's, less the names it gives to the members of a union."""
    path: FieldPath = ()
    for part in detail["loc"]:
        known = isinstance(data, Mapping) and part in data
        if known or (isinstance(data, list | tuple) and isinstance(part, int) and part < len(data)):
            path, data = (*path, part), data[part]
    if detail["type"] == "missing":
        path = (*path, detail["loc"][-1])
    elif detail["type"] == UNKNOWN_FIELD:
        path = (*path, detail["ctx"]["field"])
    return path


def _beside_the_point(path: FieldPath, detail: ErrorDetails, details: list[tuple[FieldPath, ErrorDetails]]) -> bool:
    """Whether this comes from a member of a union that was not meant: a word where a list is given, or the reverse."""
    others = [other for place, other in details if other is not detail and place[: len(path)] == path]
    container = isinstance(detail["input"], Mapping | list | tuple)
    if detail["type"] == "literal_error":
        return container and any(other["type"] != "literal_error" for other in others)
    return (
        detail["type"] in _CONTAINER_EXPECTED
        and not container
        and any(other["type"] == "literal_error" for other in others)
    )


def _message(detail: ErrorDetails) -> str:
    context = detail.get("ctx", {})
    match detail["type"]:
        case "missing":
            return "this field is required"
        case "value_error":
            return str(context["error"])
        case "union_tag_invalid":
            tags = [tag.strip().strip("'") for tag in context["expected_tags"].split(",")]
            return f"unknown {context['discriminator'].strip(chr(39))} {context['tag']!r}{suggestion(context['tag'], tags)}"
        case "union_tag_not_found":
            return f"the field {context['discriminator']} is required"
        case "literal_error":
            return f"must be {context['expected']}, not {_shown(detail['input'])}"
        case "model_type" | "dict_type" | "model_attributes_type":
            return f"must be a mapping of fields, not {_shown(detail['input'])}"
        case "list_type" | "tuple_type":
            return f"must be a list, not {_shown(detail['input'])}"
        case "string_pattern_mismatch":
            return f"{_shown(detail['input'])} has characters that a name cannot have; use letters, digits and _.+-"
        case kind if kind == UNKNOWN_FIELD:
            return detail["msg"]
    wanted = detail["msg"].removeprefix("Input should ")
    return f"must {wanted[:1].lower()}{wanted[1:]}, not {_shown(detail['input'])}"


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
