"""The sampler: one process that reads how long the threads of a run's nodes ran and waited for a processor.

    python -m emulation.processors.process REQUEST

1. It looks as often as its own cost allows: after each look it sleeps so long that looks take `_LOOKS` of one
   processor, and the search for new processes and threads `_SEARCHES`. Threads that live for less than the time
   between two searches, which is 0.2 s at least, are not seen. Quotas of brokers are looked at as often as threads,
   once a search has found that they have any; what the hypervisor steals, and quotas of the whole run, at each search.
2. It ends when its standard input ends, so also with the emulator.
"""

from __future__ import annotations

import os
import resource
import select
import sys
import time
from pathlib import Path
from typing import BinaryIO

import msgspec

from emulation.processors.discovery import Discovery
from emulation.processors.quotas import HostCounters, Quotas
from emulation.processors.request import SamplingRequest
from emulation.processors.threads import Threads
from record.processors import HostBlock, ProcessorBlock, ProcessorLine, ProcessorSampling, QuotaBlock
from record.time_units import SECOND

_LOOKS, _SEARCHES = 0.013, 0.004
"""Shares of one processor."""
_SHORTEST = SECOND // 500
_SHORTEST_SEARCH = SECOND // 5
_WRITE_EVERY = SECOND
_MICROSECOND = 1000


class Sampler:
    """The sampler of one run."""

    def __init__(self, request: SamplingRequest, file: BinaryIO) -> None:
        self._request = request
        self._file = file
        self._encode = msgspec.json.Encoder().encode
        self._discovery = Discovery(request)
        self._threads = Threads()
        self._nodes: list[str] = []
        self._numbers: dict[str, int] = {}
        self._pids: set[int] = set()
        self._seen = 0
        self._looks = 0
        self._block_start = self._search_due = 0
        self._intervals: list[int] = []
        self._quotas = Quotas(os.getpid())
        self._held_back: list[int] = []
        self._host = HostCounters(self._quotas.around)
        self._of_host: list[int] = []

    def run(self, ends: int) -> None:
        """Looks until the descriptor `ends` can be read."""
        begin, used = time.monotonic_ns(), time.process_time_ns()
        self._block_start = self._search_due = begin
        spent = used
        while True:
            now = time.monotonic_ns()
            if now >= self._search_due:
                self._search(now)
                spent = time.process_time_ns()  # a search has a share of its own
                now = time.monotonic_ns()  # the threads that it opened began before this look, not with it
            self._look(now)
            if now - self._block_start >= _WRITE_EVERY:
                self._write_block(now)
            before, spent = spent, time.process_time_ns()
            pause = max(_SHORTEST, round((spent - before) / _LOOKS))
            if select.select([ends], [], [], pause / SECOND)[0]:
                break
        now = time.monotonic_ns()
        self._look(now)
        self._write_block(now)
        self._write(
            ProcessorSampling(
                variant=self._request.variant,
                seconds=(now - begin) / SECOND,
                looks=self._looks,
                used=(time.process_time_ns() - used) / SECOND,
                processes=self._seen,
                unread=self._threads.unread,
            )
        )
        self._threads.close()

    def _search(self, now: int) -> None:
        before = time.process_time_ns()
        for pid in self._pids - self._threads.pids():
            self._discovery.forget(pid)
        found = set()
        for pid, node in self._discovery.nodes(now):
            if node not in self._numbers:
                self._numbers[node] = len(self._nodes)
                self._nodes.append(node)
            self._threads.watch(pid, self._numbers[node], now)
            self._quotas.watch(pid, self._numbers[node])
            found.add(pid)
        self._quotas.search(now)
        for begin, stolen, held_back in self._host.look(now):
            self._of_host += self._microseconds(begin, now, stolen, held_back)
        self._seen += len(found - self._pids)
        self._pids = found
        cost = time.process_time_ns() - before
        self._search_due = now + max(_SHORTEST_SEARCH, round(cost / _SEARCHES))

    def _look(self, now: int) -> None:
        self._looks += 1
        start = self._block_start
        end = (now - start) // _MICROSECOND
        for (node, begin), (waiting, running) in self._threads.look(now).items():
            waited, ran = waiting // _MICROSECOND, running // _MICROSECOND
            if waited or ran:
                self._intervals += (node, (begin - start) // _MICROSECOND, end, waited, ran)
        for node, begin, held_back in self._quotas.look(now):
            self._held_back += (node, *self._microseconds(begin, now, held_back))

    def _microseconds(self, begin: int, end: int, *counted: int) -> list[int]:
        """An interval as a block has it."""
        start = self._block_start
        return [time // _MICROSECOND for time in (begin - start, end - start, *counted)]

    def _write_block(self, now: int) -> None:
        variant, start = self._request.variant, self._block_start
        if self._intervals:
            self._write(ProcessorBlock(variant, start, self._nodes, self._intervals))
        if self._held_back:
            self._write(QuotaBlock(variant, start, self._nodes, self._held_back))
        if self._of_host:
            self._write(HostBlock(variant, start, self._of_host))
        self._intervals, self._held_back, self._of_host = [], [], []
        self._block_start = now

    def _write(self, line: ProcessorLine) -> None:
        self._file.write(self._encode(line) + b"\n")
        self._file.flush()


def main() -> None:
    request = msgspec.json.decode(sys.argv[1], type=SamplingRequest)
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with Path(request.file).open("ab") as file:
        Sampler(request, file).run(sys.stdin.fileno())


if __name__ == "__main__":
    main()
