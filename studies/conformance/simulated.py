"""Cases in virtual time: the broker core in the simulator, a fresh overlay for each case."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from broker_service.messages import BrokerId, ClientEvent
from broker_service.trace import Trace
from broker_service.trace_writer import NullTrace
from emulation.simulation import Settings, SimulatedOverlay
from emulation.simulation import UnsettledError as NeverSettledError
from studies.conformance.model import Case
from studies.conformance.protocols import ConformanceProtocol
from studies.conformance.testbed import LIMITS, Session, Tables, UnsettledError

SETTLE_WITHIN = 60.0
"""Virtual seconds."""

_NANOSECONDS = 1_000_000_000


class SimulatedTestbed:
    """`trace_of` gives each broker's log; nothing is logged without it."""

    runtime = "simulated"

    def __init__(self, trace_of: Callable[[BrokerId], Trace] | None = None) -> None:
        self._trace_of = trace_of or _no_trace

    @contextmanager
    def run(self, case: Case, protocol: ConformanceProtocol) -> Iterator[SimulatedCase]:
        settings = Settings(protocol=protocol.protocol, options=protocol.options, seed=case.seed, limits=LIMITS)
        simulated = SimulatedOverlay(case.overlay(), settings, self._trace_of)
        simulated.start()
        overlay = SimulatedCase(simulated)
        overlay.settle()
        yield overlay


class SimulatedCase:
    """The overlay of one case under way. Every call happens at a moment of virtual time."""

    def __init__(self, overlay: SimulatedOverlay) -> None:
        self.overlay = overlay

    def open_session(self, broker: BrokerId, on_event: Callable[[ClientEvent], None]) -> Session:
        return self.overlay.open_session(broker, on_event)

    def hand_over(self) -> None:
        self.overlay.run_until(self.overlay.agenda.now)

    def settle(self) -> None:
        try:
            self.overlay.settle(SETTLE_WITHIN)
        except NeverSettledError as error:
            raise UnsettledError(f"the overlay does not settle: {error}") from error

    def let_pass(self, seconds: float) -> None:
        self.overlay.run_until(self.overlay.agenda.now + round(seconds * _NANOSECONDS))

    def kill(self, broker: BrokerId) -> None:
        self.overlay.kill(broker)

    def restart(self, broker: BrokerId) -> None:
        self.overlay.restart(broker)

    def cut(self, a: BrokerId, b: BrokerId) -> None:
        self.overlay.cut(a, b)

    def restore(self, a: BrokerId, b: BrokerId) -> None:
        self.overlay.restore(a, b)

    def tables(self) -> Tables:
        return {name: broker.tables() for name, broker in self.overlay.brokers.items()}


def _no_trace(broker: BrokerId) -> Trace:
    return NullTrace(broker, "base")
