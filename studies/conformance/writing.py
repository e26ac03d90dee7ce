"""Cases as text that can be pasted into a file: JSON, one step a line."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from studies.conformance.model import AnyCase, Relation

_INDENT = " "


def write(case: AnyCase) -> str:
    """One case. Fields with their default value are left out."""
    data = case.model_dump(mode="json", exclude_unset=True, exclude_defaults=True)
    if isinstance(case, Relation):
        return _line(data)
    data["links"] = [link["between"] if set(link) == {"between"} else link for link in data.get("links", [])]
    fields = [f"{_line(name)}: {_steps(value) if name == 'steps' else _line(value)}" for name, value in data.items()]
    return "{" + f",\n{_INDENT}".join(fields) + "}"


def write_all(cases: Sequence[AnyCase]) -> str:
    """Content of a file with these cases."""
    return "[\n" + ",\n".join(map(write, cases)) + "\n]\n"


def _steps(steps: list[Any]) -> str:
    between = f",\n{_INDENT * 2}"
    return f"[\n{_INDENT * 2}" + between.join(_line(_wait_last(step)) for step in steps) + "]"


def _wait_last(step: dict[str, Any]) -> dict[str, Any]:
    return {name: step[name] for name in sorted(step, key="wait".__eq__)}


def _line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
