"""Planned faults: the failures of brokers and links that a scenario asks for, as values; nothing here runs.

    schedule = plan(scenario.faults, overlay, join=30, run=120, seed=1)    # concrete brokers, links and times

`emulation.faults` injects them.
"""

from scenario.faults.conditions import LinkChange
from scenario.faults.planning import FaultError, FaultSchedule, plan
from scenario.faults.roles import Demand
from scenario.faults.target_words import TargetError
from scenario.faults.targets import Targets
from scenario.faults.times import Counter, CountReached, Counts, Moment, Phase

__all__ = [
    "CountReached",
    "Counter",
    "Counts",
    "Demand",
    "FaultError",
    "FaultSchedule",
    "LinkChange",
    "Moment",
    "Phase",
    "TargetError",
    "Targets",
    "plan",
]
