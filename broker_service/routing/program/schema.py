"""JSON Schema of the lines between a broker and a router's program.

python -m broker_service.routing.program.schema     # writes schema.json anew
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from broker_service.routing.program.lines import VERSION, AnyCall, Reply, Said

FILE = Path(__file__).with_name("schema.json")


def schema() -> dict[str, Any]:
    """The schema: lines of the broker are a `Call` or a `Reply`, those of the program are `Said`."""
    (call, said, reply), components = msgspec.json.schema_components(
        (AnyCall, Said, Reply), ref_template="#/$defs/{name}"
    )
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"Lines between a broker and a router's program, contract {VERSION}",
        "$defs": {**components, "line_of_the_broker": {"anyOf": [call, reply]}, "line_of_the_program": said},
    }


def text() -> bytes:
    """The schema as its file has it."""
    return msgspec.json.format(msgspec.json.encode(schema(), order="sorted"), indent=2) + b"\n"


if __name__ == "__main__":
    FILE.write_bytes(text())
