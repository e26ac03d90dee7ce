"""Up to ten examples of each defect and variant, with what the log knows of the publication's way."""

from __future__ import annotations

from pyspark.sql import DataFrame, Row, Window
from pyspark.sql import functions as F  # noqa: N812 - its usual name

from analysis.pipeline import Tables
from analysis.summary import REORDERED, Example
from analysis.tables import Defect

MOST = 10
"""Of each defect and variant."""


def examples(tables: Tables) -> list[tuple[str, Example]]:
    """Pairs of a variant and an example, oldest publications first."""
    ways = (
        tables["notifications"]
        .groupBy("variant", "publication", "client")
        .agg(F.collect_list("path").alias("paths"), F.max("notified_ns").alias("notified_ns"))
    )
    reached = F.transform("arrivals", lambda arrival: arrival.broker).alias("reached")
    publications = tables.journeys.select("variant", "publication", "rejected", reached)
    shown = _defects(tables).transform(_first_of_each)
    found = (
        publications.join(F.broadcast(shown), ["variant", "publication"])
        .join(ways, ["variant", "publication", "client"], "left")
        .orderBy("variant", "defect", "place")
    )
    return [(row["variant"], _example(row)) for row in found.collect()]


def _defects(tables: Tables) -> DataFrame:
    columns = ["variant", "publication", "client", "publisher", "published_ns", "defect", "notifications", "cause"]
    judged = tables["expected"].where(F.col("defect").isNotNull()).select(columns)
    overtaken = (
        tables["notifications"]
        .where(F.col("overtaken") & (F.col("repeat") == 0))
        .withColumns({"defect": F.lit(REORDERED), "notifications": F.lit(1), "cause": F.lit(None).cast("string")})
    )
    return judged.unionByName(overtaken.select(columns))


def _first_of_each(defects: DataFrame) -> DataFrame:
    order = Window.partitionBy("variant", "defect").orderBy("published_ns", "publication", "client")
    return defects.withColumn("place", F.row_number().over(order)).where(F.col("place") <= MOST)


def _example(row: Row) -> Example:
    return Example(
        defect=row["defect"],
        publication=row["publication"],
        client=row["client"],
        publisher=row["publisher"],
        published_ns=row["published_ns"],
        detail=_detail(row),
        reached=row["reached"],
        paths=row["paths"] or [],
    )


def _detail(row: Row) -> str:
    match row["defect"]:
        case Defect.LOST if row["rejected"]:
            return "its broker refused the publication, which conforms to an advertisement of its client"
        case Defect.LOST if not row["reached"]:
            return "no broker received the publication"
        case Defect.LOST:
            return f"it arrived at {len(row['reached'])} broker(s), and never at the client"
        case Defect.DUPLICATED:
            return f"notified {row['notifications']} times"
        case Defect.SPURIOUS:
            return str(row["cause"])
        case _:
            return "a later publication of the same publisher reached the client before"
