"""Hosts that agree on quiet, in every order of their looks and of messages that travel between them.

Each host runs in a thread, and one thread runs at a time: the drawn steps choose which, and when a message arrives.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import chain, count
from random import Random

from hypothesis import HealthCheck, find, given, settings
from hypothesis import strategies as st

from emulation.run.common_quiet import Ballot, Vote, settle_together

HOSTS = 3
Path = list[int]
"""Hosts that a message visits one after another."""


@dataclass
class World:
    """Messages on their way between the brokers of hosts, one broker a host."""

    paths: list[Path]
    """Host that sent each message, and the hosts that the message is still to visit."""
    steps: Iterator[int]
    """Endless choices among the hosts that can go on and the messages that can arrive."""
    counters: list[int] = field(default_factory=lambda: [0] * HOSTS)
    waiting: dict[int, threading.Semaphore] = field(default_factory=dict)
    """Hosts that wait for their turn."""
    votes: dict[int, dict[int, Vote]] = field(default_factory=dict)
    running: int = HOSTS
    failed: bool = False
    """True once a host has raised an error, so that the others wait no longer for their turn."""
    lock: threading.Lock = field(default_factory=threading.Lock)
    """Held while a turn is passed on: all hosts begin at the same time."""

    def quiet(self, host: int) -> bool:
        """True when the host's broker waits for no message to be handled."""
        return all(path[0] != host for path in self.paths)

    def arrive(self, number: int) -> None:
        """A broker handles a message, and sends it on unless its path ends there."""
        path = self.paths.pop(number)
        self.counters[path[0]] += 1
        self.counters[path[1]] += 1
        if len(path) > 2:
            self.paths.append(path[1:])

    def pass_on(self, host: int) -> None:
        """Lets another host go on, and returns when it is this host's turn again."""
        with self.lock:
            turn = self.waiting[host] = threading.Semaphore(self.failed)
            self._next_turn()
        turn.acquire()
        if self.failed:
            raise RuntimeError("another host has failed")

    def leave(self, *, failed: bool) -> None:
        """Lets the others go on without a host, which has ended or failed."""
        with self.lock:
            self.running -= 1
            self.failed |= failed
            if not self.failed:
                self._next_turn()
                return
            for turn in self.waiting.values():
                turn.release()

    def _next_turn(self) -> None:
        """Messages arrive until the choice falls on a host. Returns at once unless all hosts wait."""
        if not self.waiting or len(self.waiting) < self.running:
            return
        while (choice := next(self.steps) % (len(self.waiting) + len(self.paths))) >= len(self.waiting):
            self.arrive(choice - len(self.waiting))
        self.waiting.pop(sorted(self.waiting)[choice]).release()


@dataclass
class Host:
    """Looks and votes of one host."""

    number: int
    world: World
    seen: int = -1

    def settle(self, within: float) -> None:
        while not self.unmoved():
            pass

    def unmoved(self) -> bool:
        self.world.pass_on(self.number)
        before, self.seen = self.seen, self.world.counters[self.number]
        return before == self.seen and self.world.quiet(self.number)

    def ballot(self, number: int, vote: Vote) -> Sequence[Vote]:
        cast = self.world.votes.setdefault(number, {})
        cast[self.number] = vote
        while len(cast) < HOSTS:
            self.world.pass_on(self.number)
        return list(cast.values())


Agreement = Callable[[Callable[[float], None], Callable[[], bool], Ballot, float], None]


def ends_in_quiet(agreement: Agreement, paths: list[Path], steps: list[int]) -> bool:
    """True when no message is on its way at the moment at which the first host takes all for quiet."""
    world = World(list(paths), chain(steps, count()))
    left: list[int] = []

    def run(number: int) -> None:
        host, failed = Host(number, world), True
        try:
            world.pass_on(number)
            agreement(host.settle, host.unmoved, host.ballot, 1.0)
            left.append(len(world.paths))
            failed = False
        finally:
            world.leave(failed=failed)

    with ThreadPoolExecutor(HOSTS) as pool:
        for ended in [pool.submit(run, number) for number in range(HOSTS)]:
            ended.result()
    return left[0] == 0


def twice(settle: Callable[[float], None], _unmoved: Callable[[], bool], ballot: Ballot, within: float) -> None:
    """Each host settles, waits for the others, and settles again."""
    settle(within)
    ballot(0, Vote.UNMOVED)
    settle(within)


PATHS = st.lists(st.lists(st.integers(0, HOSTS - 1), min_size=2, max_size=8), min_size=1, max_size=2)
STEPS = st.lists(st.integers(0, 4), max_size=60)


@given(PATHS, STEPS)
@settings(deadline=None, max_examples=300)
def test_hosts_agree_only_when_all_is_quiet(paths: list[Path], steps: list[int]) -> None:
    assert ends_in_quiet(settle_together, paths, steps)


def test_settling_twice_is_not_enough() -> None:
    find(
        st.tuples(PATHS, STEPS),
        lambda drawn: not ends_in_quiet(twice, *drawn),
        settings=settings(deadline=None, max_examples=5_000, suppress_health_check=list(HealthCheck)),
        random=Random(1),
    )
