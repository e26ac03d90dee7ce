"""References to protocols beside a scenario's file: paths of files and packages, and programs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
from pydantic import ValidationInfo

from broker_service.routing import PROTOCOLS
from broker_service.routing.declaration import Protocol
from broker_service.routing.outside import reference_from
from broker_service.routing.program.references import reference_to
from broker_service.routing.systems import SYSTEMS
from scenario.sections.units import DURATION

PROTOCOL = "routing.protocol"
SYSTEM = "system"
_SYSTEM = "A deployed system in place of a protocol: its own servers are the brokers (docs/deployed-systems.md)."
PROGRAM = "program"
PROGRAM_SCHEMA = {
    "type": "object",
    "properties": {PROGRAM: {"type": "array", "items": {"type": "string"}, "minItems": 1}},
    "required": [PROGRAM],
    "additionalProperties": False,
}
"""The JSON Schema of a program's argument vector."""


def options_by_protocol(schema: dict[str, Any]) -> None:
    """Adds the options of each built-in protocol, and of each deployed system, to the JSON Schema of `routing`."""
    schema["properties"][SYSTEM] = {"enum": list(SYSTEMS), "description": _SYSTEM}
    schema["required"] = [field for field in schema["required"] if field != "protocol"]
    schema["oneOf"] = [{"required": ["protocol"]}, {"required": [SYSTEM]}]
    schema["allOf"] = [
        {
            "if": {"properties": {field: {"const": name}}, "required": [field]},
            "then": {"properties": _options(protocol), "propertyNames": {"enum": [field, *_options(protocol)]}},
        }
        for field, protocols in (("protocol", PROTOCOLS), (SYSTEM, SYSTEMS))
        for name, protocol in protocols.items()
    ]


def _options(protocol: Protocol) -> Mapping[str, Any]:
    """The JSON Schema of each option; times may have a unit."""
    _, found = msgspec.json.schema_components([protocol.options])
    properties: dict[str, Any] = found[protocol.options.__name__]["properties"]
    times = {name: {"anyOf": [DURATION.schema(), properties[name]]} for name in protocol.options.times}
    return properties | times


def system_named(data: Mapping[str, Any]) -> str:
    """The name of the deployed system in a section `routing`. Raises `ValueError` for one that there is none of."""
    name = data[SYSTEM]
    if "protocol" in data:
        raise ValueError(f"{SYSTEM}: a deployed system routes by itself; leave `protocol` out")
    if name not in SYSTEMS:
        raise ValueError(f"{SYSTEM}: there is no system {name!r}; there are {', '.join(SYSTEMS)}")
    return str(name)


def found_beside(reference: str, info: ValidationInfo) -> str:
    """The reference to a protocol that a scenario names; paths are relative to its file."""
    return reference_from(reference, _directory(info))


def program_beside(given: Mapping[str, Any], info: ValidationInfo) -> str:
    """The reference to a program by its argument vector, in which paths are relative to the scenario's file.

    Raises `ValueError` for what is no argument vector.
    """
    return program_from(given, _directory(info))


def program_from(given: Mapping[str, Any], directory: Path) -> str:
    """The reference to a program by its argument vector, in which paths are relative to `directory`.

    Raises `ValueError` for what is no argument vector.
    """
    argv = given.get(PROGRAM)
    texts = isinstance(argv, list) and bool(argv) and all(isinstance(each, str) for each in argv)
    if given.keys() != {PROGRAM} or not texts:
        raise ValueError("protocol: a program is written `{program: [./router, argument, ...]}`, with texts in it")
    assert isinstance(argv, list)
    return reference_to(argv, directory)


def _directory(info: ValidationInfo) -> Path:
    """The directory of the scenario's file, which the loader passes as context."""
    directory: Path = (info.context or {}).get("directory", Path())
    return directory


def protocols_found(key: str, value: Any, info: ValidationInfo) -> Any:
    """The part `value` of `vary`, with the paths of protocols made absolute; `key` is the field or name that it belongs
    to.

    Raises `ValueError` for a program that has no argument vector.
    """
    if key == PROTOCOL:
        if isinstance(value, list):
            return [protocols_found(key, each, info) for each in value]
        if isinstance(value, dict):
            if isinstance(value.get(PROGRAM), list):
                return program_beside(value, info)
            return {name: protocols_found(key, each, info) for name, each in value.items()}
        return found_beside(value, info) if isinstance(value, str) else value
    if isinstance(value, dict):
        return {name: protocols_found(name, each, info) for name, each in value.items()}
    return value
