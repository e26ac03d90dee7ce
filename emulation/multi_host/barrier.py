"""The barrier at which the hosts of a run wait for each other.

Each host announces the stages of a variant that it has reached (`emulation.network.probing.responder`) and asks every
other host until that one has reached the stage, too. So no host decides for the others, and none goes on before all
have arrived. The beginning of the workload is a moment that the host whose clock is the run's announces a little ahead.
A responder must run until every host has passed the last stage; the controller ensures that (`agent`).
"""

from __future__ import annotations

import time
from collections.abc import Mapping

from emulation.multi_host.clocks import ClockWatch
from emulation.multi_host.signals import Signals
from emulation.network.host_tunnels import ResponderProcess
from emulation.network.probing.echo import FarHost
from emulation.run.context import HostRunContext
from emulation.run.host_share import Sleep
from record.errors import HostError
from record.time_units import SECOND

LEAD = 2.0
"""Seconds from the announcement of the beginning to the beginning, in which the other hosts must learn of it."""
READY, BEGUN = "ready", "begun"
"""Stages at which brokers and clients are connected, and at which the moment of the beginning is known."""
_POLL_INTERVAL = 0.05
"""Seconds between two requests to a host that has not reached a stage."""


class HostBarrier:
    """A `Rendezvous` of the hosts of a run, in one variant."""

    def __init__(
        self,
        responder: ResponderProcess,
        others: Mapping[str, FarHost],
        signals: Signals,
        context: HostRunContext,
        *,
        variant: int,
        patience: float,
    ) -> None:
        self._responder = responder
        self._others = others
        self._signals = signals
        self._context = context
        self._variant = variant
        self._patience = patience
        self.clock: ClockWatch | None = None
        """Offsets of this host's clock from the run's; None on the host whose clock is the run's."""

    def wait_for_all(self, stage: str, sleep: Sleep) -> None:
        self._announce(stage)
        for host in self._others:
            self._await(host, stage, sleep)

    def votes(self, stage: str, vote: int, sleep: Sleep) -> list[int]:
        self._responder.announce(stage, vote)
        return [vote, *(self._await(host, stage, sleep) for host in self._others)]

    def begin(self, sleep: Sleep) -> float:
        self.wait_for_all(READY, sleep)
        if self.clock is None:
            start = time.monotonic_ns() + int(LEAD * SECOND)
        else:
            reference = next(iter(self._others))  # the first host of the run
            start = self._await(reference, BEGUN, sleep) - self.clock_offset
        self._announce(BEGUN, start)
        if (late := time.monotonic_ns() - start) > 0:
            raise HostError(
                f"the moment to begin came {late / SECOND:.1f} s late; are the hosts or the network to them overloaded?"
            )
        return start / SECOND

    @property
    def clock_offset(self) -> int:
        return 0 if self.clock is None else self.clock.latest().offset

    def _announce(self, stage: str, value: int = 0) -> None:
        self._signals.reach(f"{self._variant}-{stage}")
        self._responder.announce(stage, value)

    def _await(self, host: str, stage: str, sleep: Sleep) -> int:
        """Waits until another host has reached a stage; returns the value that it announced there."""
        far = self._others[host]
        self._context.doing(f"waiting for the other hosts ({stage})")
        deadline = time.monotonic() + self._patience
        while (reply := far.stage(stage)) is None or not reply.reached:
            if time.monotonic() > deadline:
                reason = far.silence if reply is None else f"{host} did not reach it"
                raise HostError(f"waited {self._patience:g} s for the other hosts ({stage}): {reason}")
            sleep(_POLL_INTERVAL)
        return reply.value
