"""Cases from files: JSON or YAML, one case or a list, relations among them.

A file may come from a stranger: its size, its depth and the length of everything in it are bounded. Mistakes name the
file, the line, the case and the field.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from record.errors import BadInputError
from record.wording import count_of
from scenario.sections.messages import Problem, describe
from scenario.yaml_files.errors import ScenarioError
from scenario.yaml_files.fields import FieldPath, dotted
from scenario.yaml_files.source import YamlSource, parse, parse_json, read_text
from studies.conformance.checks import problems
from studies.conformance.model import AnyCase, Case, Relation

MOST_CASES = 10_000
_MOST_PROBLEMS = 10
"""Mistakes reported at once."""


class CaseError(BadInputError):
    """A file of cases that cannot be used; one line a mistake: `file:line: case: field: what is wrong`."""


def read(path: Path) -> list[AnyCase]:
    """The cases of a file, in order. Raises `CaseError`."""
    return parse_cases(_content(path), str(path), json_only=path.suffix.lower() == ".json")


def read_all(paths: Sequence[Path]) -> list[AnyCase]:
    """The cases of several files. Raises `CaseError`, also when two cases have the same id."""
    cases: list[AnyCase] = []
    places: dict[str, Path] = {}
    for path in dict.fromkeys(paths):
        for case in read(path):
            former = places.setdefault(case.id, path)
            if isinstance(case, Case) and former != path:
                raise CaseError(f"{path}: case {case.id!r}: id: {former} has a case of that id; choose another")
            cases.append(case)
    return cases


def parse_cases(text: str, file: str, *, json_only: bool = False) -> list[AnyCase]:
    """The cases of a text; `file` is what errors call it. YAML is understood unless it has to be JSON."""
    data = _parse_json(text, file) if json_only else _parse_yaml(text, file).data
    items = data if isinstance(data, list) else [data]
    if not items:
        raise CaseError(f"{file}: no case; write one, or a list of them")
    if len(items) > MOST_CASES:
        raise CaseError(f"{file}: {count_of(len(items), 'case')}, of which a file may have {MOST_CASES}; divide it")
    cases: list[AnyCase] = []
    found: list[tuple[int, Problem]] = []
    for index, item in enumerate(items):
        try:
            cases.append(_make(item, index, file))
        except _InvalidCaseError as error:
            found += ((index, problem) for problem in error.problems)
    found += _repetitions(items) if not found else []
    if found:
        raise CaseError("\n".join(_lines(found, text, file, data)))
    return cases


class _InvalidCaseError(Exception):
    def __init__(self, found: Sequence[Problem]) -> None:
        self.problems = found


def _make(item: Any, index: int, file: str) -> AnyCase:
    if not isinstance(item, dict):
        raise _InvalidCaseError([Problem((), "a case is a mapping of fields such as id, brokers, steps and expect")])
    model: type[BaseModel] = Relation if "relation" in item else Case
    try:
        made = model.model_validate(item)
    except ValidationError as error:
        raise _InvalidCaseError(describe(error, item)) from error
    if isinstance(made, Case):
        if found := tuple(problems(made)):
            raise _InvalidCaseError(found)
        return made
    assert isinstance(made, Relation)
    return made if made.id else made.model_copy(update={"id": f"{Path(file).stem}-{index + 1}"})


def _repetitions(items: Sequence[Any]) -> Iterator[tuple[int, Problem]]:
    first: dict[str, int] = {}
    for index, item in enumerate(items):
        if "id" in item and first.setdefault(item["id"], index) != index:
            message = f"{item['id']!r} is the id of case {first[item['id']] + 1} of this file too; choose another"
            yield index, Problem(("id",), message)


# Where it is wrong


def _lines(found: Sequence[tuple[int, Problem]], text: str, file: str, data: Any) -> Iterator[str]:
    source = _located(text, file)
    for index, problem in found[:_MOST_PROBLEMS]:
        listed = isinstance(data, list)
        path: FieldPath = (index, *problem.path) if listed else problem.path
        where = f"{file}:{source.line(path)}" if source is not None else file
        field = f"{dotted(problem.path)}: " if problem.path else ""
        yield f"{where}: {_title(data[index] if listed else data, index)}: {field}{problem.message}"
    if len(found) > _MOST_PROBLEMS:
        yield f"... and {len(found) - _MOST_PROBLEMS} more"


def _located(text: str, file: str) -> YamlSource | None:
    """The lines of a text's fields. JSON is YAML all but always; where it is not, there are none."""
    try:
        return parse(text, file)
    except ScenarioError:
        return None


def _title(item: Any, index: int) -> str:
    id = item.get("id") if isinstance(item, Mapping) else None
    return f"case {id!r}" if isinstance(id, str) and id else f"case {index + 1} of the file"


# Text


def _content(path: Path) -> str:
    try:
        return read_text(path)
    except ScenarioError as error:
        raise CaseError(str(error)) from error


def _parse_yaml(text: str, file: str) -> YamlSource:
    if all(not line.strip() or line.lstrip().startswith("#") for line in text.splitlines()):
        raise CaseError(f"{file}: empty; write a case, or a list of cases")
    try:
        return parse(text, file)
    except ScenarioError as error:
        raise CaseError(str(error)) from error


def _parse_json(text: str, file: str) -> Any:
    try:
        return parse_json(text, file)
    except ScenarioError as error:
        raise CaseError(str(error)) from error
