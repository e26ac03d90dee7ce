"""Scenarios: one YAML file an experiment."""

from emulation.scenario.errors import ScenarioError
from emulation.scenario.loading import load, load_text
from emulation.scenario.model import Brokers, Routing, Scenario, Timeline, Variant
from emulation.scenario.workload import (
    IndividualPublisher,
    OperationItem,
    Publications,
    QuoteFile,
    Subscriptions,
    WorkloadSection,
)

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
