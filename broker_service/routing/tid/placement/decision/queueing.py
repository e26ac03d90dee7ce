"""Waiting times of brokers, as neighbours report them, and their change under extra traffic (section 4.3).

The paper has neighbours exchange T_in and T_m, and an M/M/1 model turn them into the waiting time under the traffic
that a join point attracts. With S = T_in + T_m, the mean time in an M/M/1 system, its utilisation is rho = T_in / S,
its rate of service mu = 1 / T_m, and its rate of arrival lambda = rho mu. An extra rate D makes that lambda' = lambda +
D, and

    T_in' = lambda' / (mu (mu - lambda')) = (T_in + D T_m S) / (1 - D S),

infinite from D S = 1 on, where lambda' = mu. The latter form holds for T_m = 0, too.
"""

from __future__ import annotations

from math import inf, isfinite

import msgspec


class BrokerTimes(msgspec.Struct, frozen=True, array_like=True):
    """Mean times in seconds that a broker has measured lately, as it reports them to one neighbour."""

    waiting: float = 0.0
    """T_in: wait in the queue in front of the broker."""
    service: float = 0.0
    """T_m: service of a message, matching included."""
    output: float = 0.0
    """T_out: wait in the output queue of the link to that neighbour. The paper does not mention that it travels, but
    the cost at a neighbour (RC_Ni) needs it."""

    def __post_init__(self) -> None:
        if not all(time >= 0 and isfinite(time) for time in (self.waiting, self.service, self.output)):
            raise ValueError(f"mean times of {self.waiting}, {self.service} and {self.output} s")

    @property
    def handling(self) -> float:
        """Seconds from a message's arrival to the end of its service."""
        return self.waiting + self.service

    def waiting_with(self, extra: float) -> float:
        """T_in', when `extra` messages a second come besides those of today; infinite when the broker is saturated."""
        room = 1 - extra * self.handling
        if room <= 0:
            return inf
        return (self.waiting + extra * self.service * self.handling) / room


GUESSED_TIMES = BrokerTimes(0.001, 0.001, 0.001)
"""Times of every broker before any was measured: all are alike, so that rates alone decide."""
