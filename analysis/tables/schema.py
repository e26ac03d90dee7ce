"""Arrow schemas made from the structs that define the tables, never inferred from data."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import pyarrow as pa
from msgspec import Struct, inspect


@cache
def arrow_schema(row: type[Struct]) -> pa.Schema:
    """The schema of a msgspec struct, field by field and in its order.

    Integers have 64 bits, floats are doubles, enumerations have the type of their values; `X | None` becomes a nullable
    X. Lists and tuples of any length become lists. Raises `TypeError` for a type that no
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
        case inspect.ListType(item_type=item) | inspect.VarTupleType(item_type=item):
            return pa.list_(_data_type(_without_none(item)[0]))
        case inspect.StructType(fields=fields) | inspect.DataclassType(fields=fields):
            return pa.struct([_field(field) for field in fields])
        case inspect.EnumType(cls=enumeration):
            return pa.int64() if issubclass(enumeration, int) else pa.string()
        case _ if type(described) in _SCALARS:
            return _SCALARS[type(described)]
        case _:
            raise TypeError(f"no column type for {described}")


_SCALARS: Mapping[type[inspect.Type], pa.DataType] = {
    inspect.IntType: pa.int64(),
    inspect.FloatType: pa.float64(),
    inspect.StrType: pa.string(),
    inspect.BoolType: pa.bool_(),
    inspect.BytesType: pa.binary(),
}
