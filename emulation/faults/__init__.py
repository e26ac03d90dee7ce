"""Faults: what goes wrong with brokers and links on purpose, when, and how it ends; the same on every runtime.

    schedule = plan(scenario.faults, overlay, join=30, run=120, seed=1)    # concrete brokers, links and times
    require_possible(schedule, "process")                                  # HostError names what it cannot do
    fault_run = FaultRun(schedule, live_overlay, trace, clock)
    fault_run.begin(start)
    fault_run.advance(Counts(notifications, publications))                 # again and again
    fault_run.heal()                                                       # before the drain phase

A fault run asks a `FaultInjector`, which does no I/O, which actions are due, and performs them on a `LiveOverlay`, on
hosts or in virtual time.
"""

from emulation.faults.capabilities import require_possible
from emulation.faults.conditions import LinkChange
from emulation.faults.execution import perform
from emulation.faults.fault_run import FaultRun
from emulation.faults.injector import Action, FaultInjector
from emulation.faults.planning import FaultError, Schedule, plan
from emulation.faults.roles import Demand
from emulation.faults.targets import TargetError, Targets
from emulation.faults.times import Count, Counter, Counts, Moment, Phase

__all__ = [
    "Action",
    "Count",
    "Counter",
    "Counts",
    "Demand",
    "FaultError",
    "FaultInjector",
    "FaultRun",
    "LinkChange",
    "Moment",
    "Phase",
    "Schedule",
    "TargetError",
    "Targets",
    "perform",
    "plan",
    "require_possible",
]
