"""Journeys of a run's publications as a file for a trace viewer."""

from analysis.trace.choice import Choice
from analysis.trace.making import Made, make_trace
from analysis.trace.told import NOTHING, Followed, Rate, Step, Told, Wanted, follow

__all__ = ["NOTHING", "Choice", "Followed", "Made", "Rate", "Step", "Told", "Wanted", "follow", "make_trace"]
