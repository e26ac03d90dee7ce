"""JSON Schemas of a broker's configuration and of its log records, for brokers in any language.

python -m tests.documentation.contract_schemas     # writes proto/*.schema.json anew
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import fields

from broker_service.config import BrokerConfig, Disturbance, Limits, LinkConfig
from record.contract import CONTRACT
from record.log import PlaceCost, PlacementRecord, PredicateRecord, TraceRecord
from record.sample import PublicationSample
from record.service_time import ServiceTime
from tests.documentation.log_reference import meaning_of

FOLDER = Path(__file__).parents[2] / "proto"

_CONFIGURATION = (BrokerConfig, LinkConfig, Limits, Disturbance, PublicationSample, ServiceTime)
_RECORDS = (TraceRecord, PredicateRecord, PlacementRecord, PlaceCost)


def schemas() -> dict[str, bytes]:
    """The schemas by file name, as the files have them."""
    return {
        "broker.schema.json": _schema(f"broker.json, contract {CONTRACT}", _CONFIGURATION),
        "log-record.schema.json": _schema(f"A line of a broker's log, contract {CONTRACT}", _RECORDS),
    }


def _schema(title: str, structs: tuple[type[msgspec.Struct], ...]) -> bytes:
    """The schema of the first struct, in which the others may occur."""
    (whole,), parts = msgspec.json.schema_components((structs[0],), ref_template="#/$defs/{name}")
    for struct in structs:
        part: dict[str, Any] = parts[struct.__name__]
        part.pop("additionalProperties", None)  # fields may be added
        for field in fields(struct):
            if text := " ".join(meaning_of(struct, field.name).split()):
                part["properties"][field.encode_name]["description"] = text
    parts = {name: part for name, part in parts.items() if part.get("type") or part.get("enum")}
    made = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title, **whole, "$defs": parts}
    return msgspec.json.format(msgspec.json.encode(made, order="sorted"), indent=2) + b"\n"


if __name__ == "__main__":
    for name, text in schemas().items():
        (FOLDER / name).write_bytes(text)
