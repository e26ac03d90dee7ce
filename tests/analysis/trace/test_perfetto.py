"""The schema of files for Perfetto beside Perfetto's own.

`perfetto_0_59_1.json` has all fields of the messages that brokerlab writes, from the schema in the package `perfetto`
0.59.1 on PyPI: number, `repeated` or `single`, and type.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
from google.protobuf.descriptor import FieldDescriptor

from analysis.generated.trace_file_pb2 import DESCRIPTOR, TrackDescriptor, TrackEvent

Field = tuple[int, str, str]
OFFICIAL = msgspec.json.decode(
    Path(__file__).with_name("perfetto_0_59_1.json").read_bytes(), type=dict[str, dict[str, Field]]
)
TYPES = {
    FieldDescriptor.TYPE_INT32: "int32",
    FieldDescriptor.TYPE_INT64: "int64",
    FieldDescriptor.TYPE_UINT32: "uint32",
    FieldDescriptor.TYPE_UINT64: "uint64",
    FieldDescriptor.TYPE_FIXED64: "fixed64",
    FieldDescriptor.TYPE_STRING: "string",
}
ENUM_NAMES = {"ChildOrder": "ChildTracksOrdering"}
"""Perfetto's names of enumerations that have another one here."""


def described(field: FieldDescriptor) -> Field:
    """A field as the file of Perfetto's fields has it."""
    if field.message_type is not None:
        kind = field.message_type.name
    elif field.enum_type is not None:
        kind = ENUM_NAMES.get(field.enum_type.name, field.enum_type.name)
    else:
        kind = TYPES[field.type]
    return field.number, "repeated" if field.is_repeated else "single", kind


def unlike(official: dict[str, dict[str, Field]]) -> Iterator[str]:
    """The fields that Perfetto does not have, or has otherwise."""
    for message in DESCRIPTOR.message_types_by_name.values():
        for field in message.fields:
            if official[message.name].get(field.name) != described(field):
                yield f"{message.name}.{field.name}"


def test_every_field_is_one_of_perfettos() -> None:
    assert list(unlike(OFFICIAL)) == []
    kinds = TrackEvent.Type
    assert [kinds.SLICE_BEGIN, kinds.SLICE_END, kinds.INSTANT, kinds.COUNTER] == [1, 2, 3, 4]
    assert TrackDescriptor.ChildOrder.EXPLICIT == 3


def test_a_field_that_perfetto_has_otherwise_is_named() -> None:
    other = {name: dict(fields) for name, fields in OFFICIAL.items()}
    other["TrackEvent"]["flow_ids"] = (36, "repeated", "uint64")  # Perfetto's own of earlier years
    del other["TrackDescriptor"]["sibling_order_rank"]
    assert list(unlike(other)) == ["TrackDescriptor.sibling_order_rank", "TrackEvent.flow_ids"]
