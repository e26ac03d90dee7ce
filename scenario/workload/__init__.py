"""Workloads: the timed advertisements, subscriptions and publications of logical clients."""

from scenario.workload.generate import generate
from scenario.workload.operations import (
    Operation,
    OperationKind,
    predicate_record,
    read_operations,
    recorded_predicate,
    write_operations,
)
from scenario.workload.workload import Estimate, Workload

__all__ = [
    "Estimate",
    "Operation",
    "OperationKind",
    "Workload",
    "generate",
    "predicate_record",
    "read_operations",
    "recorded_predicate",
    "write_operations",
]
