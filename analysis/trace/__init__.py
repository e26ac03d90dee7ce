"""Journeys of a run's publications as a file for a trace viewer."""

from analysis.trace.choice import Choice
from analysis.trace.making import Made, make_trace

__all__ = ["Choice", "Made", "make_trace"]
