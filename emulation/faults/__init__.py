"""Faults: what goes wrong with brokers and links on purpose, when, and how it ends; the same on every runtime.

    schedule = plan(scenario.faults, overlay, join=30, run=120, seed=1)    # concrete brokers, links and times
    require_possible(schedule, "process")                                  # HostError names what it cannot do
    under_way = FaultRun(schedule, overlay, actuator, trace, clock)
    under_way.begin(start)
    under_way.advance(Counts(notifications, publications))                 # again and again
    under_way.heal()                                                       # before the drain phase

A fault run asks a `FaultInjector`, which does no I/O, what is due, and has an `Actuator` do it: that of
`emulation.run.actuator` for brokers that are processes, that of `emulation.simulation.actuator` for the simulator.
"""

from emulation.faults.actuator import Actuator, perform
from emulation.faults.capabilities import require_possible
from emulation.faults.conditions import LinkChange
from emulation.faults.fault_run import FaultRun
from emulation.faults.injector import Action, FaultInjector
from emulation.faults.planning import FaultError, Schedule, plan
from emulation.faults.roles import Demand
from emulation.faults.targets import TargetError, Targets
from emulation.faults.times import Count, Counter, Counts, Moment, Phase

__all__ = [
    "Action",
    "Actuator",
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
