"""Messages of pydantic, rewritten in the terms of a scenario's author."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from scenario.sections.section import UNKNOWN_FIELD, suggestion
from scenario.yaml_files.fields import FieldPath

_CONTAINER_EXPECTED = frozenset({"list_type", "model_type", "dict_type", "tuple_type", "model_attributes_type"})


@dataclass(frozen=True, slots=True)
class Problem:
    """One mistake and the field that has it."""

    path: FieldPath
    message: str


def describe(error: ValidationError, data: Any) -> tuple[Problem, ...]:
    """Each mistake in `data` once, in the order of the fields."""
    details = [(_path(detail, data), detail) for detail in error.errors(include_url=False)]
    counts = _counts_below(details)
    kept = [(path, detail) for path, detail in details if not _beside_the_point(path, detail, counts)]
    return tuple(dict.fromkeys(Problem(path, _message(detail)) for path, detail in kept))


def _path(detail: ErrorDetails, data: Any) -> FieldPath:
    """The error's field in the file: pydantic's path without the names of a union's members."""
    path: FieldPath = ()
    member: object = None
    for part in detail["loc"]:
        if isinstance(data, Mapping) and part == data.get("kind") and data is not member:
            member = data  # the kind stands before the field, whose name may be the same
            continue
        known = isinstance(data, Mapping) and part in data
        if known or (isinstance(data, list | tuple) and isinstance(part, int) and part < len(data)):
            path, data = (*path, part), data[part]
    if detail["type"] == "missing":
        path = (*path, detail["loc"][-1])
    elif detail["type"] == UNKNOWN_FIELD:
        path = (*path, detail["ctx"]["field"])
    return path


@dataclass(slots=True)
class _Counts:
    """Mistakes at a field and below it."""

    literals: int = 0
    others: int = 0


def _counts_below(details: Iterable[tuple[FieldPath, ErrorDetails]]) -> Mapping[FieldPath, _Counts]:
    counts: dict[FieldPath, _Counts] = defaultdict(_Counts)
    for path, detail in details:
        literal = detail["type"] == "literal_error"
        for length in range(len(path) + 1):
            counts[path[:length]].literals += literal
            counts[path[:length]].others += not literal
    return counts


def _beside_the_point(path: FieldPath, detail: ErrorDetails, counts: Mapping[FieldPath, _Counts]) -> bool:
    """True for a mistake that a member of a union reports which was not meant: a word for a list, or the reverse."""
    container = isinstance(detail["input"], Mapping | list | tuple)
    if detail["type"] == "literal_error":
        return container and counts[path].others > 0
    return detail["type"] in _CONTAINER_EXPECTED and not container and counts[path].literals > 0


def _message(detail: ErrorDetails) -> str:
    wording = _WORDINGS.get(detail["type"])
    if wording is not None:
        return wording(detail)
    wanted = detail["msg"].removeprefix("Input should ")
    return f"must {wanted[:1].lower()}{wanted[1:]}, not {_shown(detail['input'])}"


def _unknown_kind(detail: ErrorDetails) -> str:
    tag = detail["ctx"]["tag"]
    known = [known.strip(" '") for known in detail["ctx"]["expected_tags"].split(",")]
    return f"unknown {_discriminator(detail)} {tag!r}{suggestion(tag, known)}"


def _discriminator(detail: ErrorDetails) -> str:
    return str(detail["ctx"]["discriminator"]).strip("'")


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _not_a_mapping(detail: ErrorDetails) -> str:
    return f"must be a mapping of fields, not {_shown(detail['input'])}"


def _not_a_list(detail: ErrorDetails) -> str:
    return f"must be a list, not {_shown(detail['input'])}"


_WORDINGS: Mapping[str, Callable[[ErrorDetails], str]] = {
    "missing": lambda detail: "this field is required",
    "value_error": lambda detail: str(detail["ctx"]["error"]),
    "union_tag_invalid": _unknown_kind,
    "union_tag_not_found": lambda detail: f"the field {_discriminator(detail)!r} is required",
    "literal_error": lambda detail: f"must be {detail['ctx']['expected']}, not {_shown(detail['input'])}",
    "model_type": _not_a_mapping,
    "model_attributes_type": _not_a_mapping,
    "dict_type": _not_a_mapping,
    "list_type": _not_a_list,
    "tuple_type": _not_a_list,
    "too_long": lambda detail: f"takes {detail['ctx']['max_length']} at most, got {_shown(detail['input'])}",
    "string_too_short": lambda detail: "must not be empty",
    "too_short": lambda detail: f"needs at least {detail['ctx']['min_length']}, got {_shown(detail['input'])}",
    "string_pattern_mismatch": lambda detail: (
        f"{_shown(detail['input'])} is not a name; use letters, digits and any of _.+- (a letter or digit first)"
    ),
    UNKNOWN_FIELD: lambda detail: detail["msg"],
}
