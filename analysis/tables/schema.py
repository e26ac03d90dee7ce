"""Arrow schemas made from the structs that define the tables, never inferred from data."""

from __future__ import annotations

import pyarrow as pa
from msgspec import Struct, inspect


def arrow_schema(row: type[Struct]) -> pa.Schema:
    """The schema of a msgspec struct, field by field and in its order.

    Integers have 64 bits, floats are doubles; `X | None` becomes a nullable X. Raises `TypeError` for a type that no
    table uses.
    """
    described = inspect.type_info(row)
    if not isinstance(described, inspect.StructType):
        raise TypeError(f"{row.__name__} is not a struct")
    return pa.schema([_field(field) for field in described.fields])


def _field(field: inspect.Field) -> pa.Field:
    present, nullable = _without_none(field.type)
    return pa.field(field.encode_name, _data_type(present), nullable)


def _without_none(described: inspect.Type) -> tuple[inspect.Type, bool]:
    if not isinstance(described, inspect.UnionType):
        return described, False
    present = [member for member in described.types if not isinstance(member, inspect.NoneType)]
    if len(present) != 1:
        raise TypeError(f"a column has one type, not {described.types}")
    return present[0], len(present) < len(described.types)


def _data_type(described: inspect.Type) -> pa.DataType:
    match described:
        case inspect.ListType(item_type=item):
            return pa.list_(_data_type(item))
        case inspect.IntType():
            return pa.int64()
        case inspect.FloatType():
            return pa.float64()
        case inspect.StrType():
            return pa.string()
        case inspect.BoolType():
            return pa.bool_()
        case _:
            raise TypeError(f"no column type for {described}")
