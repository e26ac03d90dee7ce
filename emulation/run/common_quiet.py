"""Agreement of the hosts that share a variant that nothing moves on any of them.

A look at the brokers of one host is quiet if none of them holds a message or awaits a timer, and no message that one of
them sent to a broker of any host is unhandled. In each round, every host

1. looks at its brokers until a look is quiet and no counter has moved since the one before;
2. waits until all hosts have done so, looks once more, and votes: the look was quiet and no counter has moved, or not;
3. waits for all votes. The hosts agree when no vote says that something moved, and go into another round otherwise.

When they agree, all was quiet at the moment at which the last host did step 1: that moment lies between two looks of
every host, nothing was on the way at the first of them, and nothing has moved between the two. Two looks of each host
without a common moment prove nothing, because messages can travel behind the looks from host to host. The argument is
that of Mattern (Algorithms for distributed termination detection, 1987, section 4: the four-counter method), with
unhandled messages counted by their senders in place of sums of messages sent and received.
"""

from __future__ import annotations

import enum
import itertools
import time
from collections.abc import Callable, Sequence

from emulation.live_overlay import UnsettledError


class Vote(enum.IntEnum):
    """A host's finding in one round."""

    MOVED = 0
    UNMOVED = 1
    GIVEN_UP = 2
    """The host's time is over. The other hosts end with it, because they cannot agree without it."""


Ballot = Callable[[int, Vote], Sequence[Vote]]
"""Casts this host's vote under a number, and returns those of all hosts under it, this host's included, once each has
cast one."""


def settle_together(
    settle: Callable[[float], None],
    unmoved: Callable[[], bool],
    ballot: Ballot,
    within: float,
    clock: Callable[[], float] = time.monotonic,
) -> None:
    """Returns when the hosts agree. Raises `UnsettledError` when one of them does not settle in its time.

    `settle` is step 1, and raises `UnsettledError` after so many seconds. `unmoved` looks once, and returns whether
    this host is quiet and no counter has moved since the look before.
    """
    deadline = clock() + within
    for number in itertools.count(0, 2):
        try:
            settle(deadline - clock())
        except UnsettledError:
            ballot(number, Vote.GIVEN_UP)
            raise
        _require_all(ballot(number, Vote.UNMOVED), within)
        votes = ballot(number + 1, Vote.UNMOVED if unmoved() else Vote.MOVED)
        if set(votes) == {Vote.UNMOVED}:
            return


def _require_all(votes: Sequence[Vote], within: float) -> None:
    if Vote.GIVEN_UP in votes:
        raise UnsettledError(f"the brokers of another host had not settled after {within:g} seconds")
