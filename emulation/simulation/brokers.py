"""A simulated broker: the core that the gRPC server drives in real time, driven in virtual time.

The server's asyncio parts are replaced by calls in an event queue: `link_end` moves the frames of a link's session as
`broker_service.grpc_shell.streams` does, and `server` stands for the broker's own work.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from broker_service.config import BrokerConfig, LinkConfig
from broker_service.core.broker import Broker
from broker_service.core.gauges import Gauges
from broker_service.language import Publication
from broker_service.language.content import decode_publication
from broker_service.links.on_demand import MeshPlace
from broker_service.links.overlay_link import OverlayLink
from broker_service.messages import BrokerId
from broker_service.routing.interface import SetTimer
from broker_service.tracing.sampled_trace import long_waits, recorder_of
from broker_service.tracing.trace import Trace
from emulation.planning.calibration import Calibration
from emulation.simulation.charging import sampler
from emulation.simulation.event_queue import EventQueue
from emulation.simulation.link_end import LinkEnd
from emulation.simulation.server import SimulatedServer, work_of
from record.callbacks import do_nothing
from record.log import Event
from record.service_time import ServiceTime
from record.time_units import SECOND

GAUGE_INTERVAL = SECOND


@dataclass(frozen=True, slots=True)
class Mesh:
    """A full mesh whose links are made on demand, as its brokers see it."""

    attributes: Mapping[BrokerId, Mapping[str, Any]]
    """Attributes of all brokers."""
    config: Callable[[BrokerId, BrokerId], LinkConfig]
    """Configuration of a broker's end of the link to a neighbour."""
    connect: Callable[[BrokerId, BrokerId], None]
    """Has a broker open a stream to a neighbour."""

    def place(self, broker: BrokerId, made: Callable[[OverlayLink], None]) -> MeshPlace:
        """The place of a broker, of which `made` drives the links."""
        return MeshPlace(broker, self.attributes, partial(self.config, broker), made)


class SimulatedBroker:
    """One incarnation of a broker, as a process."""

    def __init__(
        self,
        config: BrokerConfig,
        events: EventQueue,
        trace: Trace,
        calibration: Calibration,
        *,
        stored: MutableMapping[str, bytes] | None = None,
        stopwatch: Callable[[], int] | None = None,
        decode: Callable[[bytes], Publication] = decode_publication,
        mesh: Mesh | None = None,
    ) -> None:
        """`mesh` is that of brokers whose links are made on demand."""
        self.config = config
        self.alive = True
        self.stopping = False
        """True while the broker ignores new requests of clients."""
        self.events = events
        self.held: list[Callable[[], None]] | None = None
        """Calls that a frozen broker makes once it continues; None when it is not frozen."""
        self._overdue = 0
        """Calls that were held and are yet to be made, now that the broker continues."""
        self._calibration = calibration
        self._trace = trace
        self._written_before = trace.written
        self.latency = sampler(calibration.link, random.Random(f"{config.seed}:{config.id}:{config.incarnation}:link"))
        """Draws what a frame takes besides its link, in nanoseconds."""
        self._recorder = recorder_of(config, trace, events.clock)
        self._mesh = mesh
        work = work_of(config, calibration, config.service_time)
        self.server = SimulatedServer(events, work, long_waits(self._recorder))
        self.core = Broker(
            config,
            events.clock,
            trace,
            partial(SimulatedTimer, self),
            stored=stored,
            stopwatch=stopwatch,
            decode=decode,
            service=self.server.totals,
            mesh=None if mesh is None else mesh.place(config.id, self._drive),
        )
        self.ends: dict[BrokerId, LinkEnd] = {}
        for link in config.links:
            self._drive(self.core.links[link.neighbour])
        self._gauges = Gauges(self.core, self.server, self._recorder, lambda: self.server.busy, do_nothing)
        self._gauges.begin()
        events.background(events.now + GAUGE_INTERVAL, self._gauge)

    @property
    def busy(self) -> bool:
        """True when a message waits here, is served, or is in flight to a neighbour, or the router awaits a timer."""
        return (
            self.server.waiting > 0
            or self.core.awaited_timers > 0
            or not all(link.idle for link in self.core.links.values())
        )

    @property
    def flushed(self) -> bool:
        """True when no message waits here, or is in flight on a link that is up."""
        return not self.server.waiting and self.core.flushed

    def kill(self) -> None:
        """Ends at once, as in a crash: no neighbour and no client is notified."""
        self.alive = False
        self.held = None
        self.server.close()
        self.core.cancel_timers()
        for end in self.ends.values():
            end.close()

    def stop(self) -> None:
        """Ends in order: links are closed and the log has its last record."""
        for end in list(self.ends.values()):  # the router may use further links
            end.close()
        self._gauges.queues.take_sent()
        self._recorder.note(Event.STOPPED, count=0, records=self._trace.written - self._written_before + 1)
        self.kill()

    def freeze(self) -> None:
        """Stops all work until `thaw`; whatever comes in waits in the sockets."""
        if self.held is None:
            self.held = []
            self.server.pause()

    def thaw(self) -> None:
        """Continues, beginning with whatever has come in and with the timers that are overdue."""
        if self.held is None:
            return
        held, self.held = self.held, None
        self.server.resume()
        for call in held:
            self._make_soon(call)

    def hold(self, call: Callable[[], None]) -> bool:
        """Keeps a call until the broker continues. Returns whether it is frozen, so that the call had to be kept."""
        if self.held is None:
            return False
        self.held.append(call)
        return True

    def when_running(self, call: Callable[[], None]) -> None:
        """Makes a call at once, or as soon as the broker continues, behind all that were held."""
        if not self.hold(call):
            self.in_turn(call)

    def in_turn(self, call: Callable[[], None]) -> None:
        """Makes a call behind those that were held, at once if all of them were made."""
        if self._overdue:
            self._make_soon(call)
        else:
            call()

    def _make_soon(self, call: Callable[[], None]) -> None:
        self._overdue += 1
        self.events.soon(partial(self._make_overdue, call))

    def _make_overdue(self, call: Callable[[], None]) -> None:
        self._overdue -= 1
        call()

    def add_link(self, link: LinkConfig) -> LinkEnd:
        """The broker has a neighbour more. Returns its end of the link."""
        self._drive(self.core.neighbours.add(link))
        return self.ends[link.neighbour]

    def end(self, neighbour: BrokerId) -> LinkEnd:
        """This broker's end of the link to a neighbour, which is made if the link is on demand and unused."""
        return self.ends[self.core.links[neighbour].neighbour]

    def remove_link(self, neighbour: BrokerId) -> None:
        """The broker has a neighbour less."""
        self.ends.pop(neighbour).close()
        self.core.neighbours.remove(neighbour)

    def work_at(self, service_time: ServiceTime) -> None:
        """Sets the service time of messages that come in from now on."""
        self.server.change(work_of(self.config, self._calibration, service_time))
        self._gauges.queues.forget_lengths()  # those at the former pace are void

    def _drive(self, link: OverlayLink) -> None:
        """Moves the frames of a link from now on."""
        demand = do_nothing if self._mesh is None else partial(self._mesh.connect, self.config.id, link.neighbour)
        self.ends[link.neighbour] = LinkEnd(self, self.core.neighbours, link, self.events, demand=demand)

    def _gauge(self) -> None:
        if not self.hold(self._gauge) and self.alive:
            self._gauges.take()
            self.events.background(self.events.now + GAUGE_INTERVAL, self._gauge)


class SimulatedTimer:
    """One timer of a router. A frozen broker's runs out when it continues."""

    def __init__(self, broker: SimulatedBroker, timer: SetTimer, call: Callable[[], None]) -> None:
        self._broker = broker
        self._awaited = int(timer.awaited)
        self._call: Callable[[], None] | None = call
        events = broker.events
        events.pending += self._awaited
        events.background(events.now + round(timer.after * SECOND), self._fire)

    def cancel(self) -> None:
        if self._call is not None:
            self._call = None
            self._broker.events.pending -= self._awaited

    def _fire(self) -> None:
        call, held = self._call, self._broker.held
        if call is None:
            return
        if held is not None:
            held.append(self._fire)
            return
        self._call = None
        self._broker.events.pending -= self._awaited
        call()
