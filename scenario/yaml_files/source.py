"""Safe reading of YAML and JSON files, with the line of every field. All files that users write are read here.

A file may come from a stranger, so that reading is bounded before it costs time or memory:

1. A file has no more than `LARGEST_FILE` bytes.
2. Parsing stops at the first value, counted with aliases expanded, that exceeds `MOST_VALUES` or `DEEPEST`, and at a
   field's name longer than `LONGEST_FIELD`. The parser is libyaml, whose events are handled one by one.
3. Only plain values are built (`yaml_scalars`); no tag creates an object.

A key that appears twice in a mapping is an error, because parsers drop one of the two silently.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from yaml.reader import Reader

from record.files import open_file
from scenario.yaml_files.errors import ScenarioError
from scenario.yaml_files.fields import FieldPath
from scenario.yaml_files.scalars import Scalar, bounded_integer, finite_float, plain_value, shortened

LARGEST_FILE = 4 << 20
"""Size of the largest YAML file that is read, in bytes."""
MOST_VALUES = 200_000
"""Values in one file, counted with aliases expanded."""
DEEPEST = 32
"""Levels of mappings and lists."""
LONGEST_FIELD = 256
"""Characters of a field's name."""

_ESCAPES = re.compile(r"\\\\|\\u(d[89ab][0-9a-f]{2})\\u(d[c-f][0-9a-f]{2})")
_PREFIX = "tag:yaml.org,2002:"
_COLLECTIONS = frozenset({None, "!", f"{_PREFIX}map", f"{_PREFIX}seq"})
_TEXT = frozenset({"!", f"{_PREFIX}str"})


@dataclass(frozen=True, slots=True)
class YamlSource:
    """A document's plain data, and the line of each part of it."""

    file: str
    data: Any
    """Plain values of the document; None for an empty one."""
    lines: Mapping[FieldPath, int]
    """The line of each field, counted from 1, by its path. The value of an alias has the line of the alias."""

    def line(self, path: FieldPath) -> int:
        """The line of a field or, where the file lacks it, of the innermost section that would hold it."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)


def read(path: Path) -> YamlSource:
    """Reads one document. Raises `ScenarioError`."""
    return parse(read_text(path), str(path))


def read_text(path: Path) -> str:
    """A file's UTF-8 text, of at most `LARGEST_FILE` bytes. Raises `ScenarioError`."""
    try:
        with open_file(path) as file:
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
    """Parses one document; `file` is its name in errors. Raises `ScenarioError`."""
    if (bad := Reader.NON_PRINTABLE.search(text)) is not None:
        line = text.count("\n", 0, bad.start()) + 1
        raise ScenarioError(f"{file}:{line}: not valid YAML: the character {ord(bad[0]):#x} cannot be in it")
    composer = _Composer(file, text)
    try:
        return YamlSource(file, composer.document(), composer.lines)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = min(mark.line, len(text.splitlines()) - 1) + 1 if mark else 1
        problem = ", ".join(filter(None, (error.context, error.problem)))
        if mark is not None and text[mark.index : mark.index + 1] == "\t":
            problem = "a tab, and YAML is indented by spaces"
        raise ScenarioError(f"{file}:{line}: not valid YAML: {problem}") from error
    except yaml.YAMLError as error:
        raise ScenarioError(f"{file}: not valid YAML: {str(error).splitlines()[0]}") from error


def parse_setting(name: str, text: str) -> Any:
    """The value of `name=text` on the command line, as YAML; without text, the empty text. Raises `ScenarioError`."""
    try:
        return parse(text, name).data if text.strip() else ""
    except ScenarioError as error:
        problem = re.sub(rf"^{re.escape(name)}(:\d+)?: ", "", str(error))
        raise ScenarioError(f"{name}={shortened(text)}: {problem}") from error


def as_yaml(value: Any, *, indent: int | None = None) -> str:
    """Plain data as YAML in the form of JSON. Only escapes differ, because YAML has no pairs of surrogates.

    Keys keep their order, because that of `vary` makes the names of variants.
    """
    return _ESCAPES.sub(_without_surrogates, json.dumps(value, indent=indent))


def parse_json(text: str, file: str) -> Any:
    """Parses a JSON document within the bounds of YAML; `file` is its name in errors. Raises `ScenarioError`."""
    try:
        data = json.loads(
            text,
            object_pairs_hook=_without_repetition,
            parse_int=bounded_integer,
            parse_float=finite_float,
            parse_constant=_refuse_constant,
        )
    except json.JSONDecodeError as error:
        raise ScenarioError(f"{file}:{error.lineno}: not valid JSON: {error.msg} (column {error.colno})") from error
    except _RepeatedFieldError as error:
        parse(text, file)  # names the line
        raise ScenarioError(f"{file}: field {error} appears twice in one mapping; leave one of them out") from error
    except ValueError as error:
        raise ScenarioError(f"{file}: {error}") from error
    except RecursionError as error:
        raise ScenarioError(f"{file}: nested too deeply") from error
    level = [data]
    values, depth = 0, -1
    while level:
        values, depth = values + len(level), depth + 1
        if values > MOST_VALUES:
            raise ScenarioError(f"{file}: more than {MOST_VALUES:,} values")
        if depth > DEEPEST:
            raise ScenarioError(f"{file}: nested more than {DEEPEST} levels deep")
        level = [inner for value in level for inner in _members(value)]
    return data


def _without_surrogates(escape: re.Match[str]) -> str:
    if escape[1] is None:
        return escape[0]
    return f"\\U{0x10000 + (int(escape[1], 16) - 0xD800 << 10) + int(escape[2], 16) - 0xDC00:08x}"


def _members(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


class _Composer:
    """Builds plain data from the parser's events and counts its values."""

    def __init__(self, file: str, text: str) -> None:
        self.lines: dict[FieldPath, int] = {}
        self._file = file
        self._parser = yaml.CSafeLoader(text)
        self._values = 0
        self._anchored: dict[str, Any] = {}
        self._open: set[str] = set()
        """Anchors of the mappings and lists that are being built."""

    def document(self) -> Any:
        self._next()  # the start of the stream
        if isinstance(self._next(), yaml.StreamEndEvent):
            return None
        data = self._value(self._next(), ())
        self._next()  # the end of the document
        if not isinstance(further := self._next(), yaml.StreamEndEvent):
            raise self._error(further, "a second document begins here; a file has one")
        return data

    def _next(self) -> yaml.Event:
        event = self._parser.get_event()
        assert event is not None, "the stream ended before its last event"
        return event

    def _value(self, event: yaml.Event, path: FieldPath) -> Any:
        self.lines.setdefault(path, _line(event))
        self._count(event, len(path))
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event, len(path))
        if (anchor := getattr(event, "anchor", None)) is None:
            return self._built(event, path)
        if anchor in self._anchored or anchor in self._open:
            raise self._error(event, f"the anchor &{shortened(anchor)} is defined twice")
        self._open.add(anchor)
        value = self._anchored[anchor] = self._built(event, path)
        self._open.remove(anchor)
        return value

    def _built(self, event: yaml.Event, path: FieldPath) -> Any:
        if isinstance(event, yaml.ScalarEvent):
            return self._scalar(event)
        if getattr(event, "tag", None) not in _COLLECTIONS:
            raise self._unsupported(event)
        if isinstance(event, yaml.MappingStartEvent):
            return self._mapping(path)
        return self._sequence(path)

    def _sequence(self, path: FieldPath) -> list[Any]:
        items: list[Any] = []
        while not isinstance(event := self._next(), yaml.SequenceEndEvent):
            items.append(self._value(event, (*path, len(items))))
        return items

    def _mapping(self, path: FieldPath) -> dict[str, Any]:
        fields: dict[str, Any] = {}
        while not isinstance(event := self._next(), yaml.MappingEndEvent):
            name = self._field(event)
            if name in fields:
                first = self.lines[(*path, name)]
                raise self._error(event, f"field {name!r} appears twice; the first is on line {first}")
            self.lines[(*path, name)] = _line(event)
            fields[name] = self._value(self._next(), (*path, name))
        return fields

    def _field(self, event: yaml.Event) -> str:
        if not isinstance(event, yaml.ScalarEvent):
            raise self._error(event, "a field's name must be plain text")
        name: str = event.value
        if name == "<<":
            raise self._error(event, "merge keys (<<) are not supported; write the fields out")
        if len(name) > LONGEST_FIELD:
            raise self._error(event, f"a field's name has {LONGEST_FIELD} characters at most, not {len(name):,}")
        return name

    def _scalar(self, event: yaml.ScalarEvent) -> Scalar:
        text: str = event.value
        if event.tag in _TEXT or (event.tag is None and not event.implicit[0]):
            return text
        if event.tag is not None:
            raise self._unsupported(event)
        try:
            return plain_value(text)
        except ValueError as error:
            raise self._error(event, str(error)) from error

    def _alias(self, event: yaml.AliasEvent, depth: int) -> Any:
        name = event.anchor or ""
        if name in self._open:
            raise self._error(event, f"nested without end: the alias *{shortened(name)} is inside its own anchor")
        if name not in self._anchored:
            raise self._error(event, f"not valid YAML: there is no anchor &{shortened(name)} before this alias")
        return self._copied(event, self._anchored[name], depth)

    def _copied(self, event: yaml.AliasEvent, value: Any, depth: int) -> Any:
        """A copy of an anchored value, whose parts count as if they were written out."""
        if isinstance(value, dict):
            self._count(event, depth, len(value))
            return {name: self._copied(event, inner, depth + 1) for name, inner in value.items()}
        if isinstance(value, list):
            self._count(event, depth, len(value))
            return [self._copied(event, inner, depth + 1) for inner in value]
        return value

    def _count(self, event: yaml.Event, depth: int, values: int = 1) -> None:
        self._values += values
        if self._values > MOST_VALUES:
            raise self._error(event, f"more than {MOST_VALUES:,} values, aliases expanded")
        if depth > DEEPEST:
            raise self._error(event, f"nested more than {DEEPEST} levels deep")

    def _unsupported(self, event: yaml.Event) -> ScenarioError:
        tag = str(getattr(event, "tag", "")).replace(_PREFIX, "!!")
        return self._error(event, f"YAML tag {shortened(tag)} is not supported")

    def _error(self, event: yaml.Event, problem: str) -> ScenarioError:
        return ScenarioError(f"{self._file}:{_line(event)}: {problem}")


def _line(event: yaml.Event) -> int:
    assert event.start_mark is not None
    return event.start_mark.line + 1


class _RepeatedFieldError(Exception):
    """Two fields of one name, one of which JSON parsers drop silently."""


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        ((name, _),) = Counter(name for name, _ in pairs).most_common(1)
        raise _RepeatedFieldError(repr(shortened(name)))
    return result


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a finite number")
