"""Which publications match which conjunctions of predicates, by column expressions.

Semantics as in `broker_service.language`: every predicate must hold; an attribute that is missing, or has a value of
the other type, fails it; `isPresent` holds for any value of the predicate's type. Numbers compare as 64-bit floats, the
log's own type. Strings compare as Spark compares them, by UTF-8 bytes, which orders them as their code points do.

The cost is that of the candidates. Subscriptions of equal content are one *interest*. Each interest is looked up by the
one of its equality predicates whose value the fewest publications carry; an interest without any is compared with every
publication. Only candidates have their other predicates evaluated. Interests are broadcast, so publications never move.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - its usual name

_NUMBER_EQUAL, _STRING_EQUAL = "=", "eq"
_CLASS = "class"


def holds(predicate: Column, numbers: Column, strings: Column) -> Column:
    """Whether a predicate (a `PredicateRecord`) holds on a publication's attributes; never null."""
    number, string = numbers[predicate.attribute], strings[predicate.attribute]
    asked_number, asked_string, operator = predicate.number, predicate.string, predicate.operator
    result = (
        F.when(operator == "=", number == asked_number)
        .when(operator == "<>", number != asked_number)
        .when(operator == "<", number < asked_number)
        .when(operator == "<=", number <= asked_number)
        .when(operator == ">", number > asked_number)
        .when(operator == ">=", number >= asked_number)
        .when(operator == "eq", string == asked_string)
        .when(operator == "neq", string != asked_string)
        .when(operator == "str-lt", string < asked_string)
        .when(operator == "str-le", string <= asked_string)
        .when(operator == "str-gt", string > asked_string)
        .when(operator == "str-ge", string >= asked_string)
        .when(operator == "str-prefix", F.startswith(string, asked_string))
        .when(operator == "str-postfix", F.endswith(string, asked_string))
        .when(operator == "str-contains", F.contains(string, asked_string))
        .when(operator == "isPresent", F.when(asked_number.isNotNull(), number.isNotNull()).otherwise(string.isNotNull()))
    )
    return F.coalesce(result, F.lit(False))


def conforms(predicates: Column, numbers: Column, strings: Column) -> Column:
    """Whether a publication conforms to an advertisement: each attribute is advertised and satisfies what is said of it.

    Advertised attributes may be missing from a publication, but not `class`.
    """
    attributes = F.concat(F.map_keys(numbers), F.map_keys(strings))

    def satisfied(predicate: Column) -> Column:
        return ~F.array_contains(attributes, predicate.attribute) | holds(predicate, numbers, strings)

    advertised = F.transform(predicates, lambda predicate: predicate.attribute)
    return (
        F.array_contains(attributes, F.lit(_CLASS))
        & (F.size(F.array_except(attributes, advertised)) == 0)
        & F.forall(predicates, satisfied)
    )


def interests(subscriptions: DataFrame) -> DataFrame:
    """Adds `interest`, a number that subscriptions of equal predicates (in any order) share."""
    return subscriptions.withColumn("interest", F.xxhash64(F.to_json(F.array_sort("predicates"))))


def matches(publications: DataFrame, interests: DataFrame) -> DataFrame:
    """Every pair of a publication and an interest it matches.

    `publications`: any columns, with numbers and strings (maps, never null). `interests`: interest, predicates; one row
    each. Gives the publications' columns and `interest`.
    """
    attributes = publications.withColumn("carried", F.explode(_carried()))
    keyed = _access_predicates(attributes, interests)
    looked_up = attributes.join(F.broadcast(keyed), F.col("carried") == F.col("access"))
    unkeyed = interests.where(~F.exists("predicates", _is_equality))
    compared = publications.crossJoin(F.broadcast(unkeyed))
    columns = [*publications.columns, "interest", "predicates"]
    candidates = looked_up.select(columns).unionByName(compared.select(columns))
    matching = F.forall("predicates", lambda each: holds(each, F.col("numbers"), F.col("strings")))
    return candidates.where(matching).drop("predicates")


def _access_predicates(attributes: DataFrame, interests: DataFrame) -> DataFrame:
    """Interests with an equality predicate, each with the one (`access`) that the fewest publications satisfy.

    An interest of which no publication carries the value of some equality predicate can match none, and is left out.
    """
    equalities = interests.select(
        "interest",
        "predicates",
        F.explode(F.transform(F.filter("predicates", _is_equality), _as_carried)).alias("access"),
    )
    asked = equalities.select(F.col("access").alias("carried")).distinct()
    frequencies = (
        attributes.join(F.broadcast(asked), "carried", "left_semi")
        .groupBy(F.col("carried").alias("access"))
        .agg(F.count("*").alias("frequency"))
    )
    rarest = Window.partitionBy("interest").orderBy("frequency", "access")
    return (
        equalities.join(F.broadcast(frequencies), "access", "left")
        .withColumn("frequency", F.coalesce("frequency", F.lit(0)))
        .withColumn("rank", F.row_number().over(rarest))
        .where((F.col("rank") == 1) & (F.col("frequency") > 0))
        .select("interest", "predicates", "access")
    )


def _is_equality(predicate: Column) -> Column:
    return predicate.operator.isin(_NUMBER_EQUAL, _STRING_EQUAL)


def _as_carried(predicate: Column) -> Column:
    return _key(predicate.attribute, predicate.number, predicate.string)


def _carried() -> Column:
    """A publication's attributes as keys that equal those of the equality predicates they satisfy."""
    numbers = F.transform(F.map_entries("numbers"), lambda entry: _key(entry.key, entry.value, F.lit(None)))
    strings = F.transform(F.map_entries("strings"), lambda entry: _key(entry.key, F.lit(None), entry.value))
    return F.concat(numbers, strings)


def _key(attribute: Column, number: Column, string: Column) -> Column:
    """One text per attribute and value: the number's bits (0 and -0 alike) or the string itself."""
    bits = F.conv(F.hex(F.xxhash64(number + F.lit(0.0))), 16, 36)
    return F.when(string.isNull(), F.concat(F.lit("="), attribute, F.lit("\0"), bits)).otherwise(
        F.concat(F.lit("'"), attribute, F.lit("\0"), string)
    )
