"""JSON Schemas of the files that users write, for editors: made from the models that read the files.

Whatever the loader accepts, the schema accepts. It refuses what is wrong in a file's structure: unknown fields and
words, missing fields, values of another type or without a unit. What only a whole scenario shows to be wrong (fields
that exclude each other, a broker that does not exist) is the loader's to refuse: `brokerlab check`.

Editors read a file by YAML 1.2, brokerlab by YAML 1.1, so that some plain words are texts to the one and numbers or
booleans to the other: `12_000`, `yes`. The schema takes both.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from scenario.field_meanings import meanings

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_INTEGER = r"^[-+]?[0-9]+_[0-9_]*$"
_NUMBER = r"^[-+]?[0-9.]+_[0-9_.]*(?:[eE][-+][0-9]+)?$"
_BOOLEAN = {"type": "string", "pattern": "^(?:yes|Yes|YES|on|On|ON|no|No|NO|off|Off|OFF)$"}
_SCALAR_WORDS = {"integer": _INTEGER, "number": _NUMBER}
_INSIDE = ("items", "additionalProperties", "if", "then")
_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_MAPPINGS = ("properties", "patternProperties", "$defs")


def schema_of(file: Any, title: str) -> JsonSchemaValue:
    """The JSON Schema (draft 2020-12) of a file that holds what the model or type `file` says."""
    made = _mapped(TypeAdapter(file).json_schema(schema_generator=_Described), _with_words)
    quantities: dict[str, JsonSchemaValue] = {}
    made = _mapped(made, lambda part: _named(part, quantities))
    definitions = made.pop("$defs", {}) | quantities
    return {"$schema": DIALECT, "title": title} | made | {"title": title, "$defs": definitions}


class _Described(GenerateJsonSchema):
    """Gives fields their meanings as descriptions, and defaults as users would write them."""

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        made = super().model_schema(schema)
        model = schema["cls"]
        told = meanings(model)
        defaults = model.model_construct().model_dump(mode="json", warnings="none", by_alias=True)
        for name, field in made.get("properties", {}).items():
            field.pop("default", None)
            if name in told:
                field["description"] = told[name]
            if isinstance(default := defaults.get(name), str | int | float) and default != "":
                field["default"] = default
        return made

    def field_title_should_be_set(self, schema: Any) -> bool:
        """Pydantic's titles repeat the names of fields."""
        return False


def _mapped(schema: JsonSchemaValue, change: Callable[[JsonSchemaValue], JsonSchemaValue]) -> JsonSchemaValue:
    """The schema with every schema in it, from the innermost on, changed."""
    made = dict(schema)
    made |= {name: _mapped(made[name], change) for name in _INSIDE if isinstance(made.get(name), dict)}
    made |= {name: [_mapped(each, change) for each in made[name]] for name in _LISTS if name in made}
    for name in _MAPPINGS:
        if name in made:
            made[name] = {key: _mapped(value, change) for key, value in made[name].items()}
    return change(made)


def _named(schema: JsonSchemaValue, quantities: dict[str, JsonSchemaValue]) -> JsonSchemaValue:
    """A reference to a quantity, which is defined once in `quantities`; any other schema as it is."""
    if "title" not in schema or "pattern" not in schema:
        return schema
    own = {name: value for name, value in schema.items() if name in ("description", "default")}
    quantity = {name: value for name, value in schema.items() if name not in own}
    name = slug = re.sub("[^a-z]+", "-", quantity["title"])
    number = 1
    while quantities.setdefault(name, quantity) != quantity:
        number += 1
        name = f"{slug}-{number}"
    return {"$ref": f"#/$defs/{name}"} | own


def _with_words(schema: JsonSchemaValue) -> JsonSchemaValue:
    """The schema, in which a number or a boolean may be a word that is one to brokerlab only."""
    schema.pop("discriminator", None)  # OpenAPI's
    if "patternProperties" in schema:
        schema.setdefault("additionalProperties", False)  # a name of another pattern is refused, not unknown
    kinds = schema.get("type")
    if kinds == "boolean":
        rest = {name: value for name, value in schema.items() if name != "type"}
        return {"anyOf": [{"type": "boolean"}, _BOOLEAN]} | rest
    listed = kinds if isinstance(kinds, list) else [kinds]
    words = next((_SCALAR_WORDS[kind] for kind in listed if kind in _SCALAR_WORDS), None)
    if words is None or "string" in listed or "const" in schema or "enum" in schema:
        return schema
    return schema | {"type": [*listed, "string"], "pattern": words}
