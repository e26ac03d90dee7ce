"""Spark schemas from the structs that define a record: written down once, never inferred from data."""

from __future__ import annotations

from msgspec import Struct, inspect
from pyspark.sql import types as spark


def spark_schema(record: type[Struct]) -> spark.StructType:
    """The Spark schema of a msgspec struct, field by field and in its order.

    Integers become 64-bit longs, floats doubles, enumerations strings; `X | None` becomes a nullable X. Raises
    `TypeError` for a type that no log or table uses.
    """
    described = inspect.type_info(record)
    if not isinstance(described, inspect.StructType):
        raise TypeError(f"{record.__name__} is not a struct")
    return _struct(described)


def _struct(described: inspect.StructType) -> spark.StructType:
    return spark.StructType([_field(field) for field in described.fields])


def _field(field: inspect.Field) -> spark.StructField:
    present, nullable = _without_none(field.type)
    return spark.StructField(field.encode_name, _data_type(present), nullable)


def _without_none(described: inspect.Type) -> tuple[inspect.Type, bool]:
    if not isinstance(described, inspect.UnionType):
        return described, False
    present = [member for member in described.types if not isinstance(member, inspect.NoneType)]
    if {type(member) for member in present} == {inspect.IntType, inspect.FloatType}:
        present = [inspect.FloatType()]
    if len(present) != 1:
        raise TypeError(f"a column has one type, not {described.types}")
    return present[0], len(present) < len(described.types)


def _data_type(described: inspect.Type) -> spark.DataType:
    match described:
        case inspect.ListType(item_type=item):
            return spark.ArrayType(_data_type(item))
        case inspect.DictType(key_type=key, value_type=value):
            return spark.MapType(_data_type(key), _data_type(value))
        case inspect.StructType():
            return _struct(described)
        case _ if type(described) in _SCALARS:
            return _SCALARS[type(described)]()
        case _:
            raise TypeError(f"no Spark type for {described}")


_SCALARS: dict[type[inspect.Type], type[spark.DataType]] = {
    inspect.IntType: spark.LongType,
    inspect.FloatType: spark.DoubleType,
    inspect.StrType: spark.StringType,
    inspect.EnumType: spark.StringType,
    inspect.BoolType: spark.BooleanType,
}
