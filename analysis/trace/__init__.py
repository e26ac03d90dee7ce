"""Journeys of a run's publications as a file for a trace viewer."""

from analysis.trace.choice import ASKED, Choice, Chosen, choose_worst
from analysis.trace.making import Made, make_trace
from analysis.trace.records import read_records
from analysis.trace.told import Followed, Rate, Step, Told, Wanted, follow
from analysis.trace.worst import WorstJourneys, draw_worst

__all__ = [
    "ASKED", "Choice", "Chosen", "Followed", "Made", "Rate", "Step", "Told", "Wanted", "WorstJourneys", "choose_worst",
    "draw_worst", "follow", "make_trace", "read_records",
]  # fmt: skip
