"""`brokerlab schema`: schemas for editors, which all shipped files name, and which take what the loader takes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from scenario.yaml_files.source import read
from tests.documentation.file_schemas import FOLDER, schemas

ROOT = FOLDER.parent
YAML_FILES = sorted([*(ROOT / "scenarios").rglob("*.yaml"), *(ROOT / "campaigns").rglob("*.yaml")])
_NAMED = re.compile(r"# yaml-language-server: \$schema=(\S+)\n")


class EditorsLoader(yaml.SafeLoader):
    """Reads plain words by the core schema of YAML 1.2, as editors do."""

    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012 - PyYAML's own


for _tag, _pattern, _first in (
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", r"[-+]?[0-9]+", list("-+0123456789")),
    ("float", r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", list("-+.0123456789")),
):
    EditorsLoader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(rf"^(?:{_pattern})$"), _first)


TEXTS = {file: json.loads(text) for file, text in schemas()}


@cache
def validator(schema: Path) -> Draft202012Validator:
    return Draft202012Validator(TEXTS[schema])


def named(file: Path) -> Path:
    """The schema that a file names in its first line."""
    found = _NAMED.match(file.read_text(encoding="utf-8"))
    assert found is not None, f"{file} names no schema in its first line"
    return (file.parent / found[1]).resolve()


def refusals(schema: Path, content: Any) -> list[str]:
    return [f"{error.json_path}: {error.message[:200]}" for error in validator(schema).iter_errors(content)]


@pytest.mark.parametrize("schema", TEXTS.values(), ids=[file.name for file in TEXTS])
def test_it_is_a_schema(schema: Any) -> None:
    Draft202012Validator.check_schema(schema)


def test_every_shipped_file_names_its_schema() -> None:
    for file in YAML_FILES:
        kind = "campaign" if file.parent.name == "campaigns" else "scenario"
        assert named(file) == FOLDER / f"{kind}.schema.json"


def test_shipped_files_are_accepted_as_brokerlab_and_as_editors_read_them() -> None:
    for file in YAML_FILES:
        assert refusals(named(file), read(file).data) == [], file
        as_editors_do = yaml.load(file.read_text(encoding="utf-8"), EditorsLoader)
        assert refusals(named(file), as_editors_do) == [], file


def test_shipped_conformance_cases_are_accepted() -> None:
    for file in sorted((ROOT / "tests" / "conformance").glob("*.json")):
        assert refusals(FOLDER / "conformance.schema.json", json.loads(file.read_text(encoding="utf-8"))) == [], file


def fields(schema: Any, place: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, part in {"": schema, **schema["$defs"]}.items():
        for field, content in part.get("properties", {}).items():
            yield f"{place}:{name}.{field}", content


@pytest.mark.parametrize("kind", ["scenario", "campaign"])
def test_every_field_is_described(kind: str) -> None:
    schema = TEXTS[FOLDER / f"{kind}.schema.json"]
    undescribed = [name for name, field in fields(schema, kind) if "description" not in field and "const" not in field]
    assert [name for name in undescribed if not name.endswith(".kind")] == []


def test_defaults_and_examples_are_values_that_the_schema_takes() -> None:
    for file, schema in TEXTS.items():
        for name, field in fields(schema, file.name):
            examples = [*field.get("examples", ()), *([field["default"]] if "default" in field else [])]
            own = Draft202012Validator(field | {"$defs": schema["$defs"]})
            assert [each for each in examples if not own.is_valid(each)] == [], name
        for name, part in schema["$defs"].items():
            own = Draft202012Validator(part | {"$defs": schema["$defs"]})
            assert [each for each in part.get("examples", ()) if not own.is_valid(each)] == [], name


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("name: x", "'topology' is a required property"),
        ("topology: {kind: line, brokers: 2, broker: 3}", "'broker' was unexpected"),
        ("topology: {kind: lime, brokers: 2}", "is not valid under any"),
        ("timeline: {join: 5, run: 1s}", "$.timeline.join: 5 is greater than the maximum of 0"),
        ("timeline: {join: 5 parsecs, run: 1s}", "$.timeline.join: '5 parsecs' does not match"),
        ("faults: [{at: 1s, kil: B1}]", "'kil' was unexpected"),
        ("faults: [{at: runn+1s, kill: B1}]", "'runn+1s' does not match"),
        ("routing: {protocol: tid, publication: dynamic}", "'publication' is not one of"),
        ("routing: {protocol: tid, publications: dinamic}", "'dinamic' is not one of"),
        ("expect: {p95: {dynamic: 5}}", "$.expect.p95.dynamic: 5 is greater"),
        ("vary: {routing.publications: dynamic}", "'dynamic' is not of type"),
    ],
)
def test_mistakes_are_refused(text: str, place: str) -> None:
    found = refusals(FOLDER / "scenario.schema.json", yaml.load(text, EditorsLoader))
    assert any(place in each or place in deeper(text) for each in found), found


def deeper(text: str) -> str:
    """Mistakes that the schema finds, those inside of alternatives included."""
    errors = list(validator(FOLDER / "scenario.schema.json").iter_errors(yaml.load(text, EditorsLoader)))
    found = []
    while errors:
        error = errors.pop()
        found.append(f"{error.json_path}: {error.message}")
        errors += error.context
    return "\n".join(found)


@pytest.mark.parametrize(
    "text",
    [
        "brokers: {limits: {window: 12_000, resume: no}}",
        "topology: {kind: explicit, links: [[B1, B2], {between: [B2, B3], delay: 2ms..5ms}], link: {loss: 0.01}}",
        "topology: {kind: unit-disk, brokers: 5, area: [2km, 500m], range: 1 km}",
        "faults: [{at: run + 10s, partition: [[B1, B2], rest], for: 0.5min}, {at: 0, partition: {from: B1, to: rest}}]",
        "expect: {messages: 12_000, p95: {fixed: 200ms}, judged: 0.95}",
        "routing: {protocol: {program: [./router, -v]}}",
        "routing: {protocol: ./mine.py, anything: [1, 2]}",
        "routing: {protocol: tid, status_interval: 50ms, congestion_threshold: 1_0.5}",
        "time_dilation: auto",
        "search: {raise: workload.publications.rate, from: 5/s, to: 200/s, while: {p95: 1s}}",
    ],
)
def test_short_forms_are_accepted(text: str) -> None:
    missing = "is a required property"
    found = refusals(FOLDER / "scenario.schema.json", yaml.load(text, EditorsLoader))
    assert all(missing in each for each in found), found
