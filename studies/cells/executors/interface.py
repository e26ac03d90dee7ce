"""The contract between the scheduler of cells and its executors."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass

from emulation.ansible import Inventory, local_inventory
from emulation.runtimes.ladder import SIMULATED
from record.errors import BadInputError
from studies.cells.attempt import AttemptedCell, Keep
from studies.cells.cell import AnyCell

Executor = Callable[[Sequence[AnyCell]], Generator[AttemptedCell, None, None]]
"""Runs cells and yields every attempt at each of them as it ends, in any order. Closing the generator ends all
work."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutorOptions:
    """The choice of an executor, and how it runs cells. Raises `BadInputError` for options that contradict each
    other."""

    runtime: str
    retries: int
    """Further attempts at a cell that something outside of the run disturbed."""
    keep: Keep
    inventory: Inventory | None = None
    """The hosts; None means this host."""
    jobs: int | None = None
    """Simulations in parallel on this host; None means one for each CPU."""
    master: str | None = None
    """The URL of a Spark master, for simulated cells; None means no Spark."""

    def __post_init__(self) -> None:
        if self.master is not None and self.runtime != SIMULATED:
            raise BadInputError(f"--runtime {self.runtime}: Spark runs simulated cells; choose --runtime {SIMULATED}")
        if self.master is not None and self.inventory is not None:
            raise BadInputError(f"--master {self.master} and --hosts contradict each other; leave one out")
        if self.jobs is not None and not self.in_processes:
            raise BadInputError(
                f"--jobs {self.jobs}: is for simulated cells on this host; hosts run one cell at a time, and Spark as "
                "many as its executors have cores: leave it out"
            )

    @property
    def in_processes(self) -> bool:
        """True if cells run in processes of this host."""
        return self.runtime == SIMULATED and self.inventory is None and self.master is None

    @property
    def processes(self) -> int:
        """The number of processes that run cells in parallel on this host."""
        return self.jobs or len(os.sched_getaffinity(0))

    @property
    def hosts(self) -> Inventory:
        """The hosts that run cells, where neither processes nor Spark do."""
        return self.inventory or local_inventory()

    @property
    def location(self) -> str:
        """The place where cells run, as the user reads it."""
        if self.master is not None:
            return f"Spark at {self.master}"
        if self.in_processes:
            return f"this host, {self.processes} at a time"
        return ", ".join(self.hosts.hosts)

    @property
    def in_parallel(self) -> int:
        """The number of cells that run at the same time, as far as it is known."""
        return self.processes if self.in_processes or self.master is not None else len(self.hosts.hosts)
