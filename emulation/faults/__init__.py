"""The faults of a running overlay: when each begins and ends, and their effect; the same on every runtime.

    require_possible(schedule, "process")                                  # HostError names what it cannot do
    fault_run = FaultRun(schedule, live_overlay, trace, clock)
    fault_run.begin(start)
    fault_run.advance(Counts(notifications, publications))                 # again and again
    fault_run.heal()                                                       # before the drain phase

A fault run asks a `FaultInjector`, which does no I/O, which actions are due, and performs them on a `LiveOverlay`, on
hosts or in virtual time. `scenario.faults` plans the schedule.
"""

from emulation.faults.capabilities import require_few_access_links, require_possible, require_programs_stay
from emulation.faults.execution import perform
from emulation.faults.fault_run import FaultRun
from emulation.faults.injector import Action, FaultInjector

__all__ = [
    "Action",
    "FaultInjector",
    "FaultRun",
    "perform",
    "require_few_access_links",
    "require_possible",
    "require_programs_stay",
]
