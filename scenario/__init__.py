"""Scenarios: one YAML file an experiment."""

from scenario.loading import load, load_text
from scenario.model import Brokers, Routing, Scenario, Timeline, Variant
from scenario.sections.workload import (
    IndividualPublisher,
    OperationItem,
    Publications,
    QuoteFile,
    Subscriptions,
    WorkloadSection,
)
from scenario.yaml_files.errors import ScenarioError

__all__ = [
    "Brokers",
    "IndividualPublisher",
    "OperationItem",
    "Publications",
    "QuoteFile",
    "Routing",
    "Scenario",
    "ScenarioError",
    "Subscriptions",
    "Timeline",
    "Variant",
    "WorkloadSection",
    "load",
    "load_text",
]
