"""Matching by column expressions against the broker's own language, on random contents."""

from __future__ import annotations

import random

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - its usual name

from analysis.content import conforms, matches, with_interest
from analysis.schema import spark_schema
from broker_service.language import Advertisement, Operator, Predicate, Publication, Subscription, operator_named
from broker_service.language.relations import conforms as language_conforms
from broker_service.language.relations import matches as language_matches
from broker_service.trace import PredicateRecord, TraceRecord
from tests.analysis.history import predicate

ATTRIBUTES = ("a", "b")
NUMBERS = (-1.5, -0.0, 0.0, 1.0, 2.0, 1e300)
STRINGS = ("", "a", "ab", "b", "é", "\uffff", "\U00010000", "\U00010000a")
"""The last two are ordered the other way round by UTF-16 units, as Java compares strings."""
PUBLICATIONS, SUBSCRIPTIONS = 150, 400

Contents = dict[str, float | str]


def contents(rng: random.Random) -> Contents:
    """A publication's class is always there, and always a string."""
    chosen = [name for name in ATTRIBUTES if rng.random() < 0.8]
    return {"class": rng.choice(STRINGS)} | {
        name: rng.choice(NUMBERS if rng.random() < 0.5 else STRINGS) for name in chosen
    }


def conjunction(rng: random.Random) -> list[PredicateRecord]:
    return [any_predicate(rng) for _ in range(rng.randint(1, 3))]


def any_predicate(rng: random.Random) -> PredicateRecord:
    operator = rng.choice(list(Operator)).value
    numeric = operator in ("=", "<>", "<", "<=", ">", ">=") or (operator == "isPresent" and rng.random() < 0.5)
    return predicate(rng.choice(("class", *ATTRIBUTES)), operator, rng.choice(NUMBERS if numeric else STRINGS))


def as_language(predicates: list[PredicateRecord]) -> tuple[Predicate, ...]:
    def value(record: PredicateRecord) -> float | str:
        return record.number if record.string is None else record.string  # type: ignore[return-value]

    return tuple(
        Predicate(each.attribute, operator_named(each.operator, value(each)), value(each)) for each in predicates
    )


@pytest.fixture(scope="module")
def workload() -> tuple[list[Contents], list[list[PredicateRecord]]]:
    rng = random.Random(7)
    return [contents(rng) for _ in range(PUBLICATIONS)], [conjunction(rng) for _ in range(SUBSCRIPTIONS)]


def publication_frame(spark: SparkSession, publications: list[Contents]) -> DataFrame:
    rows = [
        (
            "base",
            number,
            {name: value for name, value in each.items() if isinstance(value, float)},
            {name: value for name, value in each.items() if isinstance(value, str)},
        )
        for number, each in enumerate(publications)
    ]
    types = "variant string, publication int, numbers map<string, double>, strings map<string, string>"
    return spark.createDataFrame(rows, types).cache()


def predicate_frame(spark: SparkSession, conjunctions: list[list[PredicateRecord]]) -> DataFrame:
    type_name = spark_schema(TraceRecord)["predicates"].dataType.simpleString()
    rows = [
        ("base", number, [(each.attribute, each.operator, each.number, each.string) for each in conjunction])
        for number, conjunction in enumerate(conjunctions)
    ]
    return spark.createDataFrame(rows, f"variant string, number int, predicates {type_name}").cache()


def test_matches_agrees_with_the_language(
    spark: SparkSession, workload: tuple[list[Contents], list[list[PredicateRecord]]]
) -> None:
    publications, conjunctions = workload
    subscriptions = predicate_frame(spark, conjunctions).transform(with_interest)
    interests = subscriptions.groupBy("variant", "interest").agg(F.first("predicates").alias("predicates"))
    found = matches(publication_frame(spark, publications), interests).join(subscriptions, ["variant", "interest"])
    pairs = [tuple(row) for row in found.select("publication", "number").collect()]
    wanted = {
        (p, s)
        for p, content in enumerate(publications)
        for s, predicates in enumerate(conjunctions)
        if language_matches(Subscription(as_language(predicates)), Publication(content))
    }
    assert len(pairs) == len(set(pairs)), "each pair once"
    assert set(pairs) == wanted
    assert 1000 < len(wanted) < PUBLICATIONS * SUBSCRIPTIONS / 2, "the workload tells right from wrong"


def test_conforms_agrees_with_the_language(
    spark: SparkSession, workload: tuple[list[Contents], list[list[PredicateRecord]]]
) -> None:
    publications, conjunctions = workload
    wide = [[*each, predicate("class", "isPresent", "x")] for each in conjunctions]
    advertisements = predicate_frame(spark, wide).drop("variant")
    judged = publication_frame(spark, publications).crossJoin(F.broadcast(advertisements))
    found = judged.where(conforms(F.col("predicates"), F.col("numbers"), F.col("strings")))
    pairs = {tuple(row) for row in found.select("publication", "number").collect()}
    wanted = {
        (p, a)
        for p, content in enumerate(publications)
        for a, predicates in enumerate(wide)
        if language_conforms(Publication(content), Advertisement(as_language(predicates)))
    }
    assert pairs == wanted
    assert len(wanted) > 300


def test_a_publication_without_a_class_conforms_to_nothing(spark: SparkSession) -> None:
    publications = publication_frame(spark, [{"a": 1.0}])
    advertisements = predicate_frame(spark, [[predicate("a", ">", 0)]]).drop("variant")
    verdict = conforms(F.col("predicates"), F.col("numbers"), F.col("strings"))
    assert publications.crossJoin(advertisements).select(verdict).collect() == [(False,)]
