"""The protocol that the option `--protocol` names, in the forms that a scenario's `routing.protocol` has."""

from __future__ import annotations

from pathlib import Path

from broker_service.routing.outside import reference_from
from record.errors import BadInputError
from scenario.sections.protocol_references import program_from
from scenario.yaml_files.source import parse_setting


def reference_named(text: str) -> str:
    """The reference to a protocol by its name, the path of its file, package or program, `program:COMMAND`, or
    `{program: [./router, argument]}`; paths are relative to the working directory.

    Raises `BadInputError` for a command or a mapping that is not written so.
    """
    try:
        given = parse_setting("--protocol", text) if text.startswith("{") else text
        return program_from(given, Path()) if isinstance(given, dict) else reference_from(text, Path())
    except ValueError as error:
        raise BadInputError(f"--protocol {text}: {error}") from error
