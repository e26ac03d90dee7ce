"""The clients of a workload of quotes."""

from __future__ import annotations

from scenario.workload.quotes.population import QuotesPopulation
from scenario.workload.workload import Workload


def quotes_of(workload: Workload) -> QuotesPopulation:
    """The generated clients, which are those of a workload of kind `quotes`."""
    assert isinstance(workload.population, QuotesPopulation)
    return workload.population
