"""Loading: a YAML file and overrides become a checked scenario."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from scenario.checks import OverlayBuilder, contradictions, problems
from scenario.model import Scenario, Variant, VariantError
from scenario.sections.messages import Problem, describe
from scenario.sections.vary import without
from scenario.yaml_files.errors import ScenarioError
from scenario.yaml_files.fields import FieldPath, dotted, set_field
from scenario.yaml_files.scalars import shortened
from scenario.yaml_files.source import YamlSource, parse, parse_setting, read

_Check = Callable[[Scenario, OverlayBuilder], Iterator[Problem]]

_MOST_PROBLEMS = 10
"""Mistakes in one report."""
_OTHER_FILES: Mapping[str, frozenset[str]] = {
    "campaign": frozenset({"scenario", "seeds"}),
    "conformance": frozenset({"id", "steps"}),
}
"""Fields that only other kinds of file have, by the command that takes them."""


def load(path: Path, overrides: Mapping[str, str] | None = None) -> Scenario:
    """Reads and checks a scenario and every variant of it.

    `overrides` are the command line's `--set path=value`: they replace the file's own values, also where the file
    varies that field. Raises `ScenarioError`, which names the file, the line and the field of each mistake.
    """
    return _checked(read(path), path.parent.absolute(), overrides or {}, problems)


def load_to_view(path: Path, overrides: Mapping[str, str] | None = None) -> Scenario:
    """Loads a scenario that is only shown and not run: its protocol need not bear its motion. Raises as `load`."""
    return _checked(read(path), path.parent.absolute(), overrides or {}, contradictions)


def load_text(text: str, name: str) -> Scenario:
    """Loads a scenario that is in no file; `name` is its name in errors. Raises as `load`.

    Relative paths in it start at the working directory.
    """
    return _checked(parse(text, name), Path.cwd(), {}, problems)


def _checked(source: YamlSource, directory: Path, overrides: Mapping[str, str], check: _Check) -> Scenario:
    _require_no_other_kind(source)
    if source.data is None:
        raise ScenarioError(
            f"{source.file}: empty; a scenario needs at least a name, a topology, routing and a workload"
        )
    if not isinstance(source.data, dict):
        raise ScenarioError(f"{source.file}:1: a scenario is a mapping of fields such as name, topology and workload")
    for key, text in overrides.items():
        _override(source.data, key, text)
    try:
        scenario = Scenario.model_validate(source.data, context={"directory": directory})
    except ValidationError as error:
        raise _error(describe(error, source.data), source, overrides) from error
    try:
        variants = scenario.variants()
    except VariantError as error:
        raise _error(error.problems, source, overrides) from error
    builder = OverlayBuilder()
    for variant in variants:
        found = tuple(check(variant.scenario, builder))
        if found:
            raise _error([_of_variant(problem, variant) for problem in found], source, overrides)
    return scenario


def _of_variant(problem: Problem, variant: Variant) -> Problem:
    """Makes a problem name the variant that has it, and the place of the setting where the field varies."""
    if not variant.places:
        return problem
    place = variant.blamed(problem.path)
    field = "" if dotted(place).endswith(dotted(problem.path)) else f"{dotted(problem.path)}: "
    return Problem(place, f"variant {variant.name}: {field}{problem.message}")


def _require_no_other_kind(source: YamlSource) -> None:
    """Raises `ScenarioError` for a file that belongs to another command."""
    first = source.data[0] if isinstance(source.data, list) and source.data else source.data
    for command, fields in _OTHER_FILES.items():
        if isinstance(first, dict) and fields <= first.keys():
            raise ScenarioError(f"{source.file}:1: not a scenario; give it to `brokerlab {command}`")


def _override(data: dict[str, Any], key: str, text: str) -> None:
    try:
        set_field(data, key, parse_setting(f"--set {key}", text))
    except ValueError as error:
        raise ScenarioError(f"--set {shortened(key)}={shortened(text)}: {error}") from error
    if isinstance(vary := data.get("vary"), dict) and key.partition(".")[0] != "vary":
        data["vary"] = without(vary, key, Scenario.model_fields)


def _error(found: Iterable[Problem], source: YamlSource, overrides: Mapping[str, str]) -> ScenarioError:
    lines = [f"{_place(problem.path, source, overrides)}: {problem.message}" for problem in found]
    if len(lines) > _MOST_PROBLEMS:
        lines[_MOST_PROBLEMS:] = [f"... and {len(lines) - _MOST_PROBLEMS} more"]
    return ScenarioError("\n".join(lines))


def _place(path: FieldPath, source: YamlSource, overrides: Mapping[str, str]) -> str:
    """The place of a mistake: an option of the command line, or a line of the file."""
    field = ".".join(str(part) for part in path)
    for key, text in overrides.items():
        if field == key or field.startswith(f"{key}."):
            return f"--set {key}={text}" + ("" if field == key else f": {dotted(path)}")
    inside = [f"--set {key}={text}" for key, text in overrides.items() if key.startswith(f"{field}.")]
    where = f"{source.file}:{source.line(path)}" + (f" (with {' '.join(inside)})" if inside else "")
    return f"{where}: {dotted(path)}" if path else where
