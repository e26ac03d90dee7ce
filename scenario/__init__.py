"""Scenarios: one YAML file an experiment."""

from scenario.loading import load, load_text
from scenario.model import Brokers, Routing, Scenario, Timeline, Variant
from scenario.sections.workload import (
    IndividualPublisher,
    OperationItem,
    QuoteFile,
    QuotePublications,
    QuoteSubscriptions,
    QuotesWorkload,
)
from scenario.yaml_files.errors import ScenarioError

__all__ = [
    "Brokers",
    "IndividualPublisher",
    "OperationItem",
    "QuoteFile",
    "QuotePublications",
    "QuoteSubscriptions",
    "QuotesWorkload",
    "Routing",
    "Scenario",
    "ScenarioError",
    "Timeline",
    "Variant",
    "load",
    "load_text",
]
