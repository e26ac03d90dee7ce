"""`brokerlab schema`: the JSON Schema of a kind of file, for editors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from record.exit_codes import ExitCode
from scenario.json_schema import schema_of
from scenario.model import Scenario
from studies.campaign.model import Campaign
from studies.conformance.model import AnyCase

Kind = Literal["scenario", "campaign", "conformance"]

_FILES: Mapping[Kind, tuple[Any, str]] = {
    "scenario": (Scenario, "A scenario of brokerlab"),
    "campaign": (Campaign, "A campaign of brokerlab"),
    "conformance": (AnyCase | list[AnyCase], "Conformance cases of brokerlab: one, or a list"),
}
"""The type of a file's content, and the title of its schema."""
KINDS = tuple(_FILES)


def print_schema(kind: Kind) -> ExitCode:
    """Prints the schema as JSON."""
    print(schema_text(kind), end="")
    return ExitCode.CORRECT


def schema_text(kind: Kind) -> str:
    """The schema as JSON."""
    content, title = _FILES[kind]
    return msgspec.json.format(msgspec.json.encode(schema_of(content, title)), indent=2).decode() + "\n"
