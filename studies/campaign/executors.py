"""Who runs a campaign's cells: the hosts of an inventory, processes of this host, or Spark's executors."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from emulation.ansible import Inventory, local_inventory
from emulation.host.signals import heeded
from emulation.runtimes.ladder import SIMULATED
from record.errors import BadInputError
from studies.campaign.attempt import Keep, RunCells
from studies.campaign.cell import Cell
from studies.campaign.directory import CampaignDirectory
from studies.campaign.hosts import HostCells, Terms, Watch
from studies.campaign.local import simulated_cells
from studies.campaign.scheduler import Audience, conduct


class Board(Audience, Watch, Protocol):
    """Who shows what is going on."""


class Stop:
    """What Ctrl-C does: the first asks for an orderly end where that takes time, the second waits for nothing."""

    def __init__(self) -> None:
        self.asked = False
        self.orderly: Callable[[], None] | None = None
        """None where the work may be left at any moment."""
        self.at_once: Callable[[], None] = _nothing

    @contextmanager
    def heeded(self) -> Iterator[None]:
        """Takes over Ctrl-C, SIGTERM and a closed terminal. Raises `KeyboardInterrupt` in what it is around."""
        previous = {number: signal.signal(number, self._handle) for number in heeded()}
        try:
            yield
        finally:
            for number, handler in previous.items():
                signal.signal(number, handler)

    def _handle(self, number: int, frame: object) -> None:
        again, self.asked = self.asked, True
        if self.orderly is None or again:
            self.at_once()
            raise KeyboardInterrupt
        self.orderly()


@dataclass(frozen=True, slots=True, kw_only=True)
class Crew:
    """How cells are run, and on what."""

    inventory: Inventory | None
    """This host where it is None."""
    runtime: str
    retries: int
    keep: Keep
    jobs: int | None
    """Simulations side by side on this host; as many as CPUs where it is None."""
    master: str | None
    """Of Spark, for simulated cells."""

    def __post_init__(self) -> None:
        if self.master is not None and self.runtime != SIMULATED:
            raise BadInputError(f"--master {self.master}: Spark runs simulated cells; add --runtime {SIMULATED}")
        if self.master is not None and self.inventory is not None:
            raise BadInputError(f"--master {self.master} and --inventory contradict each other; leave one out")
        if self.jobs is not None and not self._in_processes:
            raise BadInputError(
                f"--jobs {self.jobs}: is for simulated cells on this host; hosts run one cell at a time, and Spark as "
                "many as its executors have cores: leave it out"
            )

    @property
    def places(self) -> str:
        """Where cells run, in words."""
        if self.master is not None:
            return f"Spark at {self.master}"
        if self._in_processes:
            return f"this host, {self._jobs} at a time"
        return ", ".join(self._hosts.hosts)

    @property
    def side_by_side(self) -> int:
        """Cells at the same time, as far as that is known."""
        return self._jobs if self._in_processes or self.master is not None else len(self._hosts.hosts)

    def work_off(self, directory: CampaignDirectory, cells: Sequence[Cell], board: Board) -> bool:
        """Runs cells and records every try. Whether it went on to the end, rather than until the user ended it.

        Raises `UserError`s.
        """
        stop = Stop()
        run = self._runner(directory, board, stop)
        try:
            with stop.heeded():
                conduct(directory, cells, self.retries, run, board)
        except KeyboardInterrupt:
            return False
        directory.tidy()
        return not stop.asked

    @property
    def _in_processes(self) -> bool:
        return self.runtime == SIMULATED and self.inventory is None and self.master is None

    @property
    def _jobs(self) -> int:
        return self.jobs or len(os.sched_getaffinity(0))

    @property
    def _hosts(self) -> Inventory:
        return self.inventory or local_inventory()

    def _runner(self, directory: CampaignDirectory, board: Board, stop: Stop) -> RunCells:
        if self.master is not None:
            from studies.campaign.spark import spark_cells  # noqa: PLC0415 - half a second, for Spark alone

            return spark_cells(self.master, directory, self.keep, board.say)
        if self._in_processes:
            return simulated_cells(directory, self.keep, self._jobs)
        terms = Terms(runtime=self.runtime, keep=self.keep, retries=self.retries)
        hosts = HostCells(self._hosts, directory, terms, board)

        def orderly() -> None:
            board.say("ending the cells under way in order; Ctrl-C again does not wait for them")
            hosts.stop()

        stop.orderly, stop.at_once = orderly, hosts.abandon
        return hosts.run


def _nothing() -> None:
    """Nothing is under way elsewhere."""
