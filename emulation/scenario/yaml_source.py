"""Reading YAML safely, with the line of every field kept.

A scenario may come from a stranger: its size, its depth and what its aliases expand to are bounded, and only plain
values are built. A key that appears twice is an error, because the parser would otherwise drop one silently.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from emulation.scenario.errors import ScenarioError
from emulation.scenario.fields import FieldPath

LARGEST_FILE = 4 << 20
"""Bytes."""
MOST_VALUES = 200_000
"""Values in one file, counted with aliases expanded."""
DEEPEST = 32
"""Mappings and lists inside each other."""


_PREFIX = "tag:yaml.org,2002:"
_SCALARS = frozenset(f"{_PREFIX}{name}" for name in ("null", "bool", "int", "float", "str"))


@dataclass(frozen=True, slots=True)
class YamlSource:
    """A document's plain data and where in the file each part of it stands."""

    file: str
    data: Any
    lines: Mapping[FieldPath, int]
    """From a field's path to its line, counted from 1."""

    def line(self, path: FieldPath) -> int:
        """The line of a field or, where the file does not have it, of what would hold it."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)


def read(path: Path) -> YamlSource:
    """Reads one document. Raises `ScenarioError`."""
    return parse(read_text(path), str(path))


def read_text(path: Path) -> str:
    """A file's UTF-8 text, if it is no larger than `LARGEST_FILE`. Raises `ScenarioError`."""
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST_FILE + 1)
    except OSError as error:
        raise ScenarioError(f"{path}: cannot be read: {error.strerror}") from error
    if len(content) > LARGEST_FILE:
        raise ScenarioError(f"{path}: larger than the {LARGEST_FILE >> 20} MiB that a file may have; divide it")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ScenarioError(f"{path}:{line}: not UTF-8 text; save it as UTF-8") from error


def parse(text: str, file: str) -> YamlSource:
    """Parses one document; `file` is what errors call it. Raises `ScenarioError`."""
    try:
        loader = yaml.SafeLoader(text)
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise ScenarioError(
            f"{file}:{line}: not valid YAML: the character {error.character:#x} cannot be in it"
        ) from error
    try:
        node = loader.get_single_node()
        if node is None:
            raise ScenarioError(f"{file}: empty; a scenario needs at least a name, a topology, routing and a workload")
        reader = _Reader(file, loader)
        return YamlSource(file, reader.value(node, ()), reader.lines)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        raise ScenarioError(f"{file}:{line}: not valid YAML: {error.problem or error.context}") from error
    except yaml.YAMLError as error:
        raise ScenarioError(f"{file}: not valid YAML: {str(error).splitlines()[0]}") from error
    except RecursionError as error:
        raise ScenarioError(f"{file}: nested too deeply") from error
    finally:
        loader.dispose()


class _Reader:
    """Turns nodes into plain data, counting as it goes."""

    def __init__(self, file: str, loader: yaml.SafeLoader) -> None:
        self.lines: dict[FieldPath, int] = {}
        self._file = file
        self._loader = loader
        self._values = 0

    def value(self, node: yaml.Node, path: FieldPath) -> Any:
        self.lines.setdefault(path, node.start_mark.line + 1)
        self._values += 1
        if self._values > MOST_VALUES:
            raise self._error(node, f"more than {MOST_VALUES:,} values, aliases expanded")
        if len(path) > DEEPEST:
            raise self._error(node, f"nested more than {DEEPEST} levels deep (or an alias inside its own anchor)")
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path)
        if isinstance(node, yaml.SequenceNode):
            return [self.value(item, (*path, index)) for index, item in enumerate(node.value)]
        return self._scalar(node)

    def _mapping(self, node: yaml.MappingNode, path: FieldPath) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                raise self._error(key_node, "a field's name must be plain text")
            key = key_node.value
            if key == "<<":
                raise self._error(key_node, "merge keys (<<) are not supported; write the fields out")
            if key in result:
                first = self.lines[(*path, key)]
                raise self._error(key_node, f"field {key!r} appears twice; the first is on line {first}")
            self.lines[(*path, key)] = key_node.start_mark.line + 1
            result[key] = self.value(value_node, (*path, key))
        return result

    def _scalar(self, node: yaml.Node) -> Any:
        if node.tag in _SCALARS:
            try:
                return self._loader.construct_object(node)
            except ValueError as error:
                raise self._error(node, f"{node.value!r} is not a valid {node.tag.removeprefix(_PREFIX)}") from error
        if node.tag == f"{_PREFIX}timestamp":
            return node.value
        raise self._error(node, f"YAML tag {node.tag.replace(_PREFIX, '!!')} is not supported")

    def _error(self, node: yaml.Node, problem: str) -> ScenarioError:
        return ScenarioError(f"{self._file}:{node.start_mark.line + 1}: {problem}")
