"""A simulated link of a large full mesh: a stream is opened when a message waits, and closed when the link is idle.

The rules are those of `broker_service.links.on_demand`. Either end opens the stream; an attempt that the other end has
begun serves both. A broker that has ended refuses a stream, which the dialling end learns a round trip after it dials;
one that is frozen, or behind a direction that is cut, does not answer. A restarted broker opens the links that its
former incarnations used, so that its neighbours learn of the new one.
"""

from __future__ import annotations

from functools import partial

from broker_service.links.session import MISSED_HEARTBEATS
from emulation.simulation.link_end import LinkEnd
from emulation.simulation.overlay_link import SimulatedLink, Stream
from record.time_units import SECOND
from topology.link_properties import BrokerId


class LinkOnDemand(SimulatedLink):
    """A simulated link whose stream is opened only when a message waits."""

    def connect_soon(self) -> None:
        """Has the dialling end try again at a random time within the longest back-off, unless the link rests by
        then."""
        self._events.after(self._random.uniform(0, self._limits.reconnect_last), self._connect_if_wanted)

    def _connect_if_wanted(self) -> None:
        wanting = next((broker for broker, end in self.ends.items() if end is not None and end.wants_stream), None)
        if wanting is not None:
            self.connect(wanting)

    def _opened(self, stream: Stream) -> None:
        self._look_later(stream)

    def _failed(self, broker: BrokerId, dialler: LinkEnd) -> None:
        refused = self.ends[self.other(broker)] is None and all(one.up for one in self.directions.values())
        after = 0.0 if refused else MISSED_HEARTBEATS * self._limits.heartbeat
        self._events.after(after, partial(self._report, broker, dialler))

    def _report(self, broker: BrokerId, end: LinkEnd) -> None:
        """Notifies a broker that its neighbour is out of reach, unless a stream was opened since."""
        if (
            self._stream is None
            and self.ends[broker] is end
            and not end.process.hold(partial(self._report, broker, end))
        ):
            end.unreachable()

    # Rest

    def _look_later(self, stream: Stream) -> None:
        at = self._events.now + round(self._limits.idle_close * SECOND)
        self._events.background(at, partial(self._look, stream, self._sent()))

    def _look(self, stream: Stream, sent: int) -> None:
        """Closes a stream that has carried no message since the look before."""
        if self._stream is not stream:
            return
        ends = [end for end in self.ends.values() if end is not None]
        if sent == self._sent() and all(end.link.idle and end.process.held is None for end in ends):
            self._stream = None
            for end in ends:
                end.rest()
        else:
            self._look_later(stream)

    def _sent(self) -> int:
        """Messages that both ends have sent."""
        return sum(end.link.sent for end in self.ends.values() if end is not None)
