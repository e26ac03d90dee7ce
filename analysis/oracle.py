"""The delivery oracle: who must, may and must not have got each publication, and what went wrong.

It believes clients only: what they advertised, subscribed to, published and withdrew, what they were answered, and
what they were notified of. It proves, for every publication and client:

1. **must**: a subscription of the client that matches had settled before the publication was published and was not
   withdrawn before it could be delivered, and the publication conforms to an advertisement of its own client of which
   the same is true. Not to get it is the defect *lost*; to get it twice is *duplicated*.
2. **may**: as above, but the subscription or the advertisement was in flight: made or withdrawn within
   `SETTLE_SECONDS`, or never confirmed; or the run was cut short within `CUT_SHORT_SECONDS` after the publication.
   To get it or not are both right; to get it twice is *duplicated*.
3. **none**: all else, publications outside their client's advertisements included. To get it is *spurious*.

An operation has settled `SETTLE_SECONDS` after its confirmation; one confirmed before the phase `run` began has settled
when it began, because the emulator waits there until the overlay is quiet. An operation that the client was told is
rejected never was. A subscription made again under the same name replaces the former one from then on.

Order is reported, not judged: dynamic routing sends successive publications over different paths by design, so one may
overtake another (`overtaken` in the table `notifications`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import IntEnum

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - its usual name

from analysis.content import conforms, matches, with_interest
from analysis.phases import SECOND
from analysis.tables import Cause, Defect, Right, as_table
from broker_service.trace import Event

SETTLE_SECONDS = 2.0
"""How long a (un)subscription or (un)advertisement may take to reach every broker, and a publication to be matched."""
CUT_SHORT_SECONDS = 10.0
"""Of an interrupted run: what was published so shortly before its end may not have been delivered yet."""

_SETTLE = int(SETTLE_SECONDS * SECOND)
_CUT_SHORT = int(CUT_SHORT_SECONDS * SECOND)
_MADE = (Event.SUBSCRIBE, Event.ADVERTISE)
_WITHDRAWN = (Event.UNSUBSCRIBE, Event.UNADVERTISE)
_ANSWERED = (Event.CONFIRMED, Event.REJECTED)


class Standing(IntEnum):
    """Of one subscription or advertisement at the time of one publication; of several, the greatest counts."""

    NOT_YET = 1
    WITHDRAWN = 2
    IN_FLIGHT = 3
    SETTLED = 4


def lifetimes(records: DataFrame, brokers: Sequence[str]) -> DataFrame:
    """One row per subscription or advertisement that a client made and was not told is rejected.

    Columns: variant, made (subscribe or advertise), client, id, predicates, issued_ns, confirmed_ns (null: never),
    withdrawn_ns (null: never).
    """
    event = F.col("event")
    answers = event.isin(*_ANSWERED) & F.col("kind").isin(*_MADE)
    operations = event.isin(*_MADE, *_WITHDRAWN)
    concerned = F.coalesce(F.when(answers, F.col("kind")), event)
    made = F.when(concerned.isin(Event.SUBSCRIBE, Event.UNSUBSCRIBE), _MADE[0].value).otherwise(_MADE[1].value)
    following = (
        Window.partitionBy("variant", "made", "client", "id").orderBy("time").rowsBetween(1, Window.unboundedFollowing)
    )
    answer = F.min(F.when(answers, F.struct("time", "event"))).over(following)
    return (
        records.where((answers | operations) & ~F.col("node").isin(list(brokers)))
        .withColumn("made", made)
        .withColumn("answer", answer)
        .withColumn("withdrawn_ns", F.min(F.when(operations, F.col("time"))).over(following))
        .where(event.isin(*_MADE) & (F.coalesce("answer.event", F.lit("")) != Event.REJECTED))
        .select(
            "variant",
            "made",
            "client",
            "id",
            F.coalesce("predicates", F.array().cast(records.schema["predicates"].dataType)).alias("predicates"),
            F.col("time").alias("issued_ns"),
            F.col("answer.time").alias("confirmed_ns"),
            "withdrawn_ns",
        )
    )


def standing(made: Column, published: Column, run_start: Column) -> Column:
    """The `Standing` of a lifetime (its three times) at a publication's time."""
    at_run_start = F.when(made.confirmed_ns <= run_start, run_start)
    settled = F.least(made.confirmed_ns + _SETTLE, at_run_start)
    lasts = made.withdrawn_ns.isNull() | (published + _SETTLE <= made.withdrawn_ns)
    return (
        F.when((published >= settled) & lasts, Standing.SETTLED.value)
        .when(published < made.issued_ns - _SETTLE, Standing.NOT_YET.value)
        .when(published > made.withdrawn_ns + _SETTLE, Standing.WITHDRAWN.value)
        .otherwise(Standing.IN_FLIGHT.value)
    )


def expected(publications: DataFrame, lifetimes: DataFrame) -> DataFrame:
    """The table `expected`, from `journeys` (with variant times and entitlement) and `lifetimes`."""
    subscriptions = lifetimes.where(F.col("made") == Event.SUBSCRIBE)
    claimed = _claims(publications.where(F.col("published") > 0), subscriptions.transform(with_interest))
    got = publications.withColumn("client", F.explode("notified.client")).withColumn("standing", F.lit(0))
    columns = ["variant", "publication", "client", "standing"]
    of_publication = ["publisher", "published_ns", "entitlement", "published", "cut_short"]
    return (
        claimed.select(*columns, *of_publication, F.lit(0).alias("got"))
        .unionByName(got.select(*columns, *of_publication, F.lit(1).alias("got")))
        .groupBy("variant", "publication", "client")
        .agg(
            F.max("standing").alias("standing"),
            F.sum("got").alias("notifications"),
            *(F.first(column).alias(column) for column in of_publication),
        )
        .withColumn("right", _right())
        .where((F.col("right") != Right.NONE) | (F.col("notifications") > 0))
        .withColumn("defect", _defect())
        .withColumn("cause", F.when(F.col("defect") == Defect.SPURIOUS, _cause()))
        .transform(as_table("expected"))
    )


def with_entitlement(lifetimes: DataFrame) -> Callable[[DataFrame], DataFrame]:
    """A step that adds two columns to `journeys` (with variant times).

    `entitlement` is the best `Standing` of the advertisements that the publication conforms to, 0 without any;
    `cut_short` tells that the run was interrupted too soon after it for its delivery to be expected.
    """
    advertisements = lifetimes.where(F.col("made") == Event.ADVERTISE)
    by_client = advertisements.groupBy("variant", F.col("client").alias("publisher")).agg(
        F.collect_list(F.struct("predicates", "issued_ns", "confirmed_ns", "withdrawn_ns")).alias("advertised")
    )
    published, run_start = F.col("published_ns"), F.col("run_start_ns")

    def entitles(made: Column) -> Column:
        conforming = conforms(made.predicates, F.col("numbers"), F.col("strings"))
        return F.when(conforming, standing(made, published, run_start)).otherwise(0)

    def step(publications: DataFrame) -> DataFrame:
        best = F.array_max(F.transform("advertised", entitles))
        cut_short = F.col("interrupted") & (published > F.col("end_ns") - _CUT_SHORT)
        return (
            publications.join(F.broadcast(by_client), ["variant", "publisher"], "left")
            .withColumn("entitlement", F.coalesce(best, F.lit(0)))
            .withColumn("cut_short", F.coalesce(cut_short, F.lit(False)))
            .drop("advertised")
        )

    return step


def _claims(publications: DataFrame, subscriptions: DataFrame) -> DataFrame:
    """One row per publication and matching subscription, with the subscription's standing."""
    interests = subscriptions.groupBy("variant", "interest").agg(F.first("predicates").alias("predicates"))
    made = F.struct("issued_ns", "confirmed_ns", "withdrawn_ns").alias("made")
    return (
        matches(publications, interests)
        .join(F.broadcast(subscriptions.select("variant", "interest", "client", made)), ["variant", "interest"])
        .withColumn("standing", standing(F.col("made"), F.col("published_ns"), F.col("run_start_ns")))
    )


def _right() -> Column:
    subscribed, entitled = F.col("standing"), F.col("entitlement")
    certain = (subscribed == Standing.SETTLED) & (entitled == Standing.SETTLED)
    possible = (subscribed >= Standing.IN_FLIGHT) & (entitled >= Standing.IN_FLIGHT)
    return (
        F.when(certain & ~F.col("cut_short"), Right.MUST.value)
        .when(possible, Right.MAY.value)
        .otherwise(Right.NONE.value)
    )


def _defect() -> Column:
    notifications = F.col("notifications")
    return (
        F.when(F.col("right") == Right.NONE, Defect.SPURIOUS.value)
        .when(notifications > 1, Defect.DUPLICATED.value)
        .when((F.col("right") == Right.MUST) & (notifications == 0), Defect.LOST.value)
    )


def _cause() -> Column:
    subscribed = F.col("standing")
    return (
        F.when(F.col("published") == 0, Cause.UNKNOWN_PUBLICATION.value)
        .when(subscribed >= Standing.IN_FLIGHT, Cause.UNADVERTISED.value)
        .when(subscribed == Standing.WITHDRAWN, Cause.WITHDRAWN.value)
        .when(subscribed == Standing.NOT_YET, Cause.NOT_YET_SUBSCRIBED.value)
        .otherwise(Cause.NO_MATCH.value)
    )
