"""Arrow schemas made from the structs that define the tables, never inferred from data."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import pyarrow as pa
from msgspec import inspect

Compound = inspect.StructType | inspect.DataclassType | inspect.NamedTupleType
"""The types that become structs, and rows."""


def compound(row: type[Any]) -> Compound:
    """A msgspec struct, a dataclass or a named tuple, described. Raises `TypeError` for another type."""
    hashable: Any = row
    return _described(hashable)


def arrow_schema(row: type[Any]) -> pa.Schema:
    """The schema of a msgspec struct, a dataclass or a named tuple, field by field and in its order.

    Integers have 64 bits, floats are doubles, enumerations have the type of their values; `X | None` becomes a nullable
    X. Lists and tuples of any length become lists. Raises `TypeError` for a type that no
    table uses.
    """
    hashable: Any = row
    return _schema(hashable)


@cache
def _described(row: type[Any]) -> Compound:
    described = inspect.type_info(row)
    if not isinstance(described, Compound):
        raise TypeError(f"{row.__name__} is not a struct")
    return described


@cache
def _schema(row: type[Any]) -> pa.Schema:
    return pa.schema([_field(field) for field in compound(row).fields])


def _field(field: inspect.Field) -> pa.Field:
    present, nullable = without_none(field.type)
    return pa.field(field.encode_name, _data_type(present), nullable)


def without_none(described: inspect.Type) -> tuple[inspect.Type, bool]:
    """The type of a column's values, and true where they may be missing."""
    if not isinstance(described, inspect.UnionType):
        return described, False
    present = [member for member in described.types if not isinstance(member, inspect.NoneType)]
    if len(present) != 1:
        raise TypeError(f"a column has one type, not {described.types}")
    return present[0], len(present) < len(described.types)


def _data_type(described: inspect.Type) -> pa.DataType:
    match described:
        case inspect.ListType(item_type=item) | inspect.VarTupleType(item_type=item):
            return pa.list_(_data_type(without_none(item)[0]))
        case inspect.StructType() | inspect.DataclassType() | inspect.NamedTupleType():
            return pa.struct([_field(field) for field in described.fields])
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
