"""One simulated overlay link: its two directions, and the streams between the brokers at its ends.

A stream opens by a hello and its answer, decided by the two link sessions. It breaks when one of its brokers ends,
which the other learns a link's delay later. An end that has missed three heartbeats gives it up: because the direction
towards it is cut, or because the broker at the other end is frozen. Attempts to open a stream that fail leave no trace
in any log, so only those that can succeed are simulated: a new stream opens within the longest back-off after its
obstacles ended.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import partial

from broker_service.config import Limits
from broker_service.links.frames import Hello
from broker_service.links.greeting import RefusedError
from emulation.simulation.event_queue import EventQueue
from emulation.simulation.link_end import LinkEnd, frame_size
from emulation.simulation.links import Direction
from emulation.simulation.silences import Silences
from topology.link_properties import BrokerId, Link


@dataclass(frozen=True, slots=True)
class Stream:
    """A stream and the numbers that the sessions at its two ends have for it."""

    dialler: BrokerId
    dialled: int
    accepted: int

    def number_at(self, broker: BrokerId) -> int:
        return self.dialled if broker == self.dialler else self.accepted


class SimulatedLink:
    """A simulated link of two brokers. Directions are named by the broker that sends."""

    def __init__(self, link: Link, events: EventQueue, limits: Limits, source: random.Random, seed: str) -> None:
        """`source` draws the times until an end notices a silent neighbour, and until it dials again.

        `seed` is that of the streams by which the two directions draw.
        """
        self.a, self.b = link.a, link.b
        self._events = events
        self._limits = limits
        self._random = source
        self.directions = {
            link.a: Direction(link.forward, link.backward, f"{seed}:{link.a}-{link.b}"),
            link.b: Direction(link.backward, link.forward, f"{seed}:{link.b}-{link.a}"),
        }
        self.ends: dict[BrokerId, LinkEnd | None] = {link.a: None, link.b: None}
        """End of the link at each broker; None while the broker does not run or does not know the link yet."""
        self._stream: Stream | None = None
        """The stream in use."""
        self._vanished = False
        self.silences = Silences(self.ends, self.directions, events, limits, source, give_up=self._give_up)

    def other(self, broker: BrokerId) -> BrokerId:
        return self.b if broker == self.a else self.a

    # Brokers

    def attach(self, broker: BrokerId, end: LinkEnd) -> None:
        """Joins a broker that has started."""
        self.ends[broker] = end
        self.silences.note()

    def lose(self, broker: BrokerId) -> None:
        """Breaks the stream of a broker that has ended; its neighbour notices if the link carries that."""
        stream, self._stream = self._stream, None
        self.ends[broker] = None
        self.silences.note()
        other = self.other(broker)
        neighbour = self.ends[other]
        if stream is not None and neighbour is not None and self.directions[broker].up:
            self._events.after(self.directions[broker].delay, partial(neighbour.close_stream, stream.number_at(other)))

    def thaw(self, broker: BrokerId) -> None:
        """Lets a broker continue, which notices streams that were closed meanwhile."""
        self.silences.note()
        end = self.ends[broker]
        present = self._stream.number_at(broker) if self._stream is not None else 0
        if end is not None and end.stream and end.stream != present:
            self._events.soon(partial(end.close_stream, end.stream))
        if self._stream is None:
            self.connect_soon()

    def vanish(self) -> None:
        """Marks the link as removed from the overlay. The two brokers close their ends of it themselves."""
        self._vanished = True
        self._stream = None

    # The wire

    def cut(self, source: BrokerId) -> None:
        """Cuts a direction: it carries no frames."""
        self.directions[source].up = False
        self.silences.note()

    def restore(self, source: BrokerId) -> None:
        """Undoes `cut`: frames that were sent meanwhile arrive, or a new stream is opened."""
        if self.directions[source].up:
            return
        self.directions[source].up = True
        self.silences.note()
        end = self.ends[source]
        if self._stream is not None:
            if end is not None and end.open is not None:
                end.open.release()
            return
        survivors = [survivor for survivor in self.ends.values() if survivor is not None]
        if len(survivors) == 1 and survivors[0].stream:
            self._events.after(self._round_trip, partial(survivors[0].close_stream, survivors[0].stream))
        self.connect_soon()

    def reset(self, broker: BrokerId) -> None:
        """Has a broker close its stream, if it has one; the other notices where the link carries that."""
        end, opposite, delay = self.ends[broker], self.ends[self.other(broker)], self.directions[broker].delay
        if end is None or end.open is None:
            return
        stream, number = end.open.number, end.open.opposite_number
        end.close_stream(stream)
        if opposite is not None and self.directions[broker].up:
            self._events.after(delay, partial(opposite.close_stream, number))
        if self._stream is not None and self._stream.number_at(broker) == stream:
            self._stream = None
            noticed = 0.0 if broker == self.a else delay
            self._events.after(noticed + self._limits.reconnect_first, self.connect)

    # Opening of a stream: the end that dials sends a hello, the other answers

    def connect(self, broker: BrokerId | None = None) -> None:
        """Has an end, by default `a`, open a connection, which takes a round trip, and send its hello."""
        dialling = self.a if broker is None else broker
        ends = self.ends[dialling], self.ends[self.other(dialling)]
        self._events.after(self._round_trip, partial(self._send_hello, dialling, *ends))

    def connect_soon(self) -> None:
        """Has the dialling end try again at a random time within the longest back-off."""
        self._events.after(self._random.uniform(0, self._limits.reconnect_last), self.connect)

    def _send_hello(self, broker: BrokerId, dialler: LinkEnd | None, listener: LinkEnd | None) -> None:
        if dialler is None or dialler.dialling or (listener is not None and listener.dialling) or self._stream:
            return
        if listener is None or not self._ready(dialler, listener):
            self._failed(broker, dialler)
            return
        number, hello = dialler.dial()
        answer = partial(self._answer, broker, dialler, listener, number, hello)
        self.directions[broker].carry(self._events, frame_size(hello), 0, answer)

    def _answer(self, broker: BrokerId, dialler: LinkEnd, listener: LinkEnd, number: int, hello: Hello, _: int) -> None:
        if not self._ready(dialler, listener):
            dialler.give_up(number)
            self._failed(broker, dialler)
            return
        back = self.directions[self.other(broker)]
        try:
            accepted, answer = listener.accept(hello, dialler, number, back)
        except RefusedError:
            dialler.give_up(number)
            self.connect_soon()
            return
        stream = self._stream = Stream(broker, number, accepted)
        back.carry(self._events, frame_size(answer), 0, partial(self._open, dialler, listener, stream, answer))
        self.silences.note()

    def _open(self, dialler: LinkEnd, listener: LinkEnd, stream: Stream, answer: Hello, left_at: int) -> None:
        if dialler.process.hold(partial(self._open, dialler, listener, stream, answer, left_at)):
            return
        if self._stream is not stream:
            dialler.give_up(stream.dialled)
        elif dialler.process.alive:
            try:
                dialler.answered(stream.dialled, answer, listener, stream.accepted, self.directions[stream.dialler])
            except RefusedError:
                self._refused(dialler, listener, stream)
                return
            self.silences.note()
            self._opened(stream)

    def _refused(self, dialler: LinkEnd, listener: LinkEnd, stream: Stream) -> None:
        """The dialling end refuses the answer, such as that of an incarnation which nobody planned, and tries again."""
        self._stream = None
        dialler.give_up(stream.dialled)
        listener.close_stream(stream.accepted)
        self.connect_soon()

    def _opened(self, stream: Stream) -> None:
        """Called when a stream is open at both ends."""

    def _failed(self, broker: BrokerId, dialler: LinkEnd) -> None:
        """Called when an attempt of a broker to open a stream cannot succeed."""

    def _ready(self, dialler: LinkEnd, listener: LinkEnd) -> bool:
        """True when these two ends can have a new stream."""
        up = not self._vanished and all(direction.up for direction in self.directions.values())
        ends = (dialler, listener)
        return up and self._stream is None and all(end.process.alive and end.process.held is None for end in ends)

    def _give_up(self, broker: BrokerId) -> None:
        """Closes the stream of an end whose neighbour is silent; the other end notices where its direction is up."""
        end, opposite = self.ends[broker], self.ends[self.other(broker)]
        if end is None or end.open is None:
            return
        stream, number = end.open.number, end.open.opposite_number
        end.close_stream(stream)
        if self._stream is not None and self._stream.number_at(broker) == stream:
            self._stream = None
        if opposite is not None and opposite.process.held is None and self.directions[broker].up:
            self._events.after(self.directions[broker].delay, partial(opposite.close_stream, number))

    @property
    def _round_trip(self) -> float:
        """The delays of both directions together, in seconds."""
        return self.directions[self.a].delay + self.directions[self.b].delay
