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
        .when(
            operator == "isPresent", F.when(asked_number.isNotNull(), number.isNotNull()).otherwise(string.isNotNull())
        )
    )
    return F.coalesce(result, F.lit(False))


def conforms(predicates: Column, numbers: Column, strings: Column) -> Column:
    """Whether a publication conforms to an advertisement: all its attributes are advertised and satisfy what is said.

    Advertised attributes may be missing from a publication, but not `class`.
    """
    attributes = F.concat(F.map_keys(numbers), F.map_keys(strings))

    def satisfied(predicate: Column) -> Column:
        missing = numbers[predicate.attribute].isNull() & strings[predicate.attribute].isNull()
        return missing | holds(predicate, numbers, strings)

    advertised = F.transform(predicates, lambda predicate: predicate.attribute)
    return (
        F.array_contains(attributes, F.lit(_CLASS))
        & (F.size(F.array_except(attributes, advertised)) == 0)
        & F.forall(predicates, satisfied)
    )


def with_interest(subscriptions: DataFrame) -> DataFrame:
    """Adds `interest`, which subscriptions of equal predicates (in any order) share."""
    return subscriptions.withColumn("interest", F.md5(F.to_json(F.sort_array("predicates"))))


def matches(publications: DataFrame, interests: DataFrame) -> DataFrame:
    """Every pair of a publication and an interest of its variant that it matches.

    `publications`: variant, numbers and strings (maps, never null), and any other columns. `interests`: variant,
    interest, predicates; one row each. Gives the publications' columns and `interest`.
    """
    attributes = publications.withColumn("access", F.explode(_carried()))
    looked_up = attributes.join(F.broadcast(_by_access_predicate(attributes, interests)), ["variant", "access"])
    unkeyed = interests.where(~F.exists("predicates", _is_equality))
    compared = publications.join(F.broadcast(unkeyed), "variant")
    columns = [*publications.columns, "interest", "predicates"]
    candidates = looked_up.select(columns).unionByName(compared.select(columns))
    matching = F.forall("predicates", lambda each: holds(each, F.col("numbers"), F.col("strings")))
    return candidates.where(matching).drop("predicates")


def _by_access_predicate(attributes: DataFrame, interests: DataFrame) -> DataFrame:
    """Interests with an equality predicate, each with the key of the one (`access`) that the fewest publications carry.

    An interest of which no publication carries the value of some equality predicate can match none, and is left out.
    """
    keys = F.transform(F.filter("predicates", _is_equality), _key_of_predicate)
    equalities = interests.withColumn("access", F.explode(keys))
    asked = equalities.select("variant", "access").distinct()
    frequencies = (
        attributes.select("variant", "access")
        .join(F.broadcast(asked), ["variant", "access"])
        .groupBy("variant", "access")
        .agg(F.count("*").alias("frequency"))
    )
    rarest = Window.partitionBy("variant", "interest").orderBy(F.coalesce("frequency", F.lit(0)), "access")
    return (
        equalities.join(F.broadcast(frequencies), ["variant", "access"], "left")
        .withColumn("rank", F.row_number().over(rarest))
        .where((F.col("rank") == 1) & F.col("frequency").isNotNull())
        .drop("rank", "frequency")
    )


def _is_equality(predicate: Column) -> Column:
    return predicate.operator.isin(_NUMBER_EQUAL, _STRING_EQUAL)


def _carried() -> Column:
    """The keys of a publication's attributes."""
    numbers = F.transform(F.map_entries("numbers"), lambda entry: _key(entry.key, entry.value))
    strings = F.transform(F.map_entries("strings"), lambda entry: _key(entry.key, entry.value))
    return F.concat(numbers, strings)


def _key_of_predicate(predicate: Column) -> Column:
    number = _key(predicate.attribute, predicate.number)
    return F.when(predicate.operator == _NUMBER_EQUAL, number).otherwise(_key(predicate.attribute, predicate.string))


def _key(attribute: Column, value: Column) -> Column:
    """Equal for equal values (Spark hashes 0 and -0 alike). A chance collision only makes one more candidate."""
    return F.xxhash64(attribute, value)
