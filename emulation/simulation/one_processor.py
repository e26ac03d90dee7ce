"""One processor for a simulation and the programs of its routers, of which one works at a time.

A call of a program makes it run and the simulation wait. To wake another processor, which has gone to sleep meanwhile,
takes longer than most answers.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

from broker_service.routing.program.references import PREFIX
from emulation.planning.plan import Plan


def beside_programs(plan: Plan) -> AbstractContextManager[None]:
    """One processor if the plan has a router that is a program; otherwise all, as before."""
    protocols = [variant.scenario.routing.protocol for variant in plan.variants]
    return one_processor() if any(protocol.startswith(PREFIX) for protocol in protocols) else nullcontext()


@contextmanager
def one_processor() -> Iterator[None]:
    """Keeps this thread on the processor where it is, and the processes that it starts within."""
    if sys.platform != "linux":
        yield
        return
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {ctypes.CDLL(None).sched_getcpu()})
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)
