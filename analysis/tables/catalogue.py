"""The catalogue of the tables in `results/`. A struct defines each: its docstring is the grain, its fields the columns.

Each table is `results/<name>.parquet`; `TABLES` maps the names. Most are one file; those of `PARTITIONED`, which grow
with every message, are directories of Parquet files, divided by variant as Hive, Spark and Arrow do it. The files take
their schemas from here, `docs/tables.md` takes its text from here, and `analysis.tables.results.read_table` gives typed
rows back.

Times named `_ns` are of the run's clock (the log's), in nanoseconds. `second` counts whole seconds from the start of
the variant's phase `run`; it is negative while clients still join. Delays count from a publication's intended time.
"""

from __future__ import annotations

from msgspec import Struct

from analysis.tables.broker_work import BrokerLoad, MatchingLoad, RouterWork
from analysis.tables.budget import Budget, BudgetAtNode, BudgetOverTime
from analysis.tables.buffers import BufferSize
from analysis.tables.delays import DelayByHops, DelayDistribution, DelayOverTime
from analysis.tables.deliveries import DeliveryByReceivers, DeliveryOverTime, Expectation, Notification
from analysis.tables.detections import Detection, DetectionDelays, ExpectedDetection
from analysis.tables.motion import Connectivity, DegreeOverTime, LinkLifetime, Spread
from analysis.tables.placements import Placement
from analysis.tables.starts import Start
from analysis.tables.timeline import Fault, PhaseTimes
from analysis.tables.traffic import (
    BrokerMessages,
    Drop,
    LabelledMessages,
    LinkLoad,
    NetworkUsage,
    QueueLength,
    RouteLength,
)

TABLES: dict[str, type[Struct]] = {
    "notifications": Notification,
    "expected": Expectation,
    "detections": Detection,
    "expected_detections": ExpectedDetection,
    "detection_delays": DetectionDelays,
    "placements": Placement,
    "starts": Start,
    "messages": BrokerMessages,
    "labels": LabelledMessages,
    "load": BrokerLoad,
    "links": LinkLoad,
    "lifetimes": LinkLifetime,
    "connectivity": Connectivity,
    "degrees": DegreeOverTime,
    "spread": Spread,
    "queues": QueueLength,
    "buffers": BufferSize,
    "delivery": DeliveryOverTime,
    "receivers": DeliveryByReceivers,
    "routes": RouteLength,
    "network_usage": NetworkUsage,
    "delays": DelayOverTime,
    "distribution": DelayDistribution,
    "budget": Budget,
    "budget_over_time": BudgetOverTime,
    "budget_at_nodes": BudgetAtNode,
    "hops": DelayByHops,
    "matching": MatchingLoad,
    "router_work": RouterWork,
    "drops": Drop,
    "faults": Fault,
    "phases": PhaseTimes,
}
"""The row of every table, by the table's name."""
OF_SOME_RUNS: frozenset[type[Struct]] = frozenset(
    (
        Detection,
        ExpectedDetection,
        DetectionDelays,
        Placement,
        Start,
        BufferSize,
        Spread,
        NetworkUsage,
        DeliveryByReceivers,
        RouteLength,
    )
)
"""The rows of tables that only some runs have: the first three those with composite subscriptions, `Placement` those
that route them as units, `Start` those whose protocol announces starts, `BufferSize` those whose routers have buffers,
`Spread` those whose overlay changes, `NetworkUsage` those over a network of routers, the last two those with a
best-effort protocol."""
PARTITIONED: frozenset[type[Struct]] = frozenset((Notification, Expectation, Detection, ExpectedDetection))
"""The rows of tables that are directories of files, with the column `variant` in the path:
`variant=fixed/part-000001.parquet`."""
