"""One simulated overlay link: its two directions, and the streams between the brokers at its ends.

A stream opens by a hello and its answer, decided by the two link sessions. It breaks when one of its brokers ends,
which the other learns a link's delay later. An end that has missed three heartbeats gives it up: because the direction
towards it is cut, or because the broker at the other end is frozen. Attempts to open a stream that fail leave no trace
in any log, so only those that can succeed are simulated: a new stream opens within the longest back-off after its
obstacles ended.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from broker_service.config import Limits
from broker_service.links.frames import Hello
from broker_service.links.session import MISSED_HEARTBEATS, RefusedError
from emulation.simulation.event_queue import EventQueue
from emulation.simulation.link_end import LinkEnd, frame_size
from emulation.simulation.links import Direction
from record.time_units import SECOND
from topology.link_properties import BrokerId, Link, LinkProperties


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
        self._directions = {
            link.a: Direction(link.forward, link.backward, f"{seed}:{link.a}-{link.b}"),
            link.b: Direction(link.backward, link.forward, f"{seed}:{link.b}-{link.a}"),
        }
        self._ends: dict[BrokerId, LinkEnd | None] = {link.a: None, link.b: None}
        """End of the link at each broker; None while the broker does not run."""
        self._stream: Stream | None = None
        """The stream in use."""
        self._silences = {link.a: 0, link.b: 0}
        """Number of times that frames of the other broker stopped or began to reach a broker, by broker."""
        self._vanished = False
        self._silent = {link.a: False, link.b: False}

    def other(self, broker: BrokerId) -> BrokerId:
        return self.b if broker == self.a else self.a

    # Brokers

    def attach(self, broker: BrokerId, end: LinkEnd) -> None:
        """Joins a broker that has started."""
        self._ends[broker] = end
        self._note_silences()

    def lose(self, broker: BrokerId) -> None:
        """Breaks the stream of a broker that has ended; its neighbour notices if the link carries that."""
        stream, self._stream = self._stream, None
        self._ends[broker] = None
        self._note_silences()
        other = self.other(broker)
        neighbour = self._ends[other]
        if stream is not None and neighbour is not None and self._directions[broker].up:
            self._after(self._directions[broker].delay, partial(neighbour.close_stream, stream.number_at(other)))

    def freeze(self) -> None:
        """Notes that a broker at one end is frozen."""
        self._note_silences()

    def thaw(self, broker: BrokerId) -> None:
        """Lets a broker continue, which notices streams that were closed meanwhile."""
        self._note_silences()
        end = self._ends[broker]
        present = self._stream.number_at(broker) if self._stream is not None else 0
        if end is not None and end.stream and end.stream != present:
            self._events.soon(partial(end.close_stream, end.stream))
        if self._stream is None:
            self.connect_soon()

    def end(self, broker: BrokerId) -> LinkEnd | None:
        """The end at a broker; None while it does not run or does not know the link yet."""
        return self._ends[broker]

    def direction(self, source: BrokerId) -> Direction:
        """The direction of what a broker sends."""
        return self._directions[source]

    def vanish(self) -> None:
        """Notes that the two brokers are not linked any more; their ends are closed by themselves."""
        self._vanished = True
        self._stream = None

    # The wire

    def cut(self, source: BrokerId) -> None:
        """Cuts a direction: it carries no frames."""
        self._directions[source].up = False
        self._note_silences()

    def restore(self, source: BrokerId) -> None:
        """Undoes `cut`: frames that were sent meanwhile arrive, or a new stream is opened."""
        if self._directions[source].up:
            return
        self._directions[source].up = True
        self._note_silences()
        end = self._ends[source]
        if self._stream is not None:
            if end is not None:
                end.release()
            return
        survivors = [survivor for survivor in self._ends.values() if survivor is not None]
        if len(survivors) == 1 and survivors[0].stream:
            self._after(self._round_trip, partial(survivors[0].close_stream, survivors[0].stream))
        self.connect_soon()

    def change(self, source: BrokerId, properties: LinkProperties) -> None:
        """Sets the properties of a direction for frames sent from now on; frames in flight keep their times."""
        self._directions[source].change(properties)
        self._directions[self.other(source)].change_way_back(properties)

    def corrupt(self, source: BrokerId, share: float) -> None:
        """Damages this share of the packets sent in a direction from now on, which are then sent again."""
        self._directions[source].corrupt(share)

    def reset(self, broker: BrokerId) -> None:
        """Has a broker close its stream, if it has one; the other notices where the link carries that."""
        end, opposite, delay = self._ends[broker], self._ends[self.other(broker)], self._directions[broker].delay
        if end is None or not end.stream:
            return
        stream, number = end.stream, end.opposite_stream
        end.close_stream(stream)
        if opposite is not None and self._directions[broker].up:
            self._after(delay, partial(opposite.close_stream, number))
        if self._stream is not None and self._stream.number_at(broker) == stream:
            self._stream = None
            noticed = 0.0 if broker == self.a else delay
            self._after(noticed + self._limits.reconnect_first, self.connect)

    # Opening of a stream: the end that dials sends a hello, the other answers

    def connect(self, broker: BrokerId | None = None) -> None:
        """Has an end, by default `a`, open a connection, which takes a round trip, and send its hello."""
        dialling = self.a if broker is None else broker
        ends = self._ends[dialling], self._ends[self.other(dialling)]
        self._after(self._round_trip, partial(self._send_hello, dialling, *ends))

    def connect_soon(self) -> None:
        """Has the dialling end try again at a random time within the longest back-off."""
        self._after(self._random.uniform(0, self._limits.reconnect_last), self.connect)

    def _send_hello(self, broker: BrokerId, dialler: LinkEnd | None, listener: LinkEnd | None) -> None:
        if dialler is None or dialler.dialling or (listener is not None and listener.dialling) or self._stream:
            return
        if listener is None or not self._ready(dialler, listener):
            self._failed(broker, dialler)
            return
        number, hello = dialler.dial()
        arrival = self._directions[broker].arrival(self._events.now, frame_size(hello), 0)
        self._events.at(arrival, partial(self._answer, broker, dialler, listener, number, hello))

    def _answer(self, broker: BrokerId, dialler: LinkEnd, listener: LinkEnd, number: int, hello: Hello) -> None:
        if not self._ready(dialler, listener):
            dialler.give_up(number)
            self._failed(broker, dialler)
            return
        back = self._directions[self.other(broker)]
        try:
            accepted, answer = listener.accept(hello, dialler, number, back)
        except RefusedError:
            dialler.give_up(number)
            self.connect_soon()
            return
        stream = self._stream = Stream(broker, number, accepted)
        arrival = back.arrival(self._events.now, frame_size(answer), 0)
        self._events.at(arrival, partial(self._open, dialler, listener, stream, answer))
        self._note_silences()

    def _open(self, dialler: LinkEnd, listener: LinkEnd, stream: Stream, answer: Hello) -> None:
        if dialler.hold(partial(self._open, dialler, listener, stream, answer)):
            return
        if self._stream is not stream:
            dialler.give_up(stream.dialled)
        elif dialler.alive:
            try:
                dialler.answered(stream.dialled, answer, listener, stream.accepted, self._directions[stream.dialler])
            except RefusedError:
                self._refused(dialler, listener, stream)
                return
            self._note_silences()
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
        up = not self._vanished and all(direction.up for direction in self._directions.values())
        ends = (dialler, listener)
        return up and self._stream is None and all(end.alive and not end.frozen for end in ends)

    # Heartbeats: only the missed ones are modelled

    def _note_silences(self) -> None:
        """Notes for both ends whether frames of the other reach them; an end gives up if they do not for some time."""
        for broker in (self.a, self.b):
            silent = self._is_silent(broker)
            if silent != self._silent[broker]:
                self._silent[broker] = silent
                self._silences[broker] += 1
                if silent:
                    missed = self._random.uniform(MISSED_HEARTBEATS - 1, MISSED_HEARTBEATS) * self._limits.heartbeat
                    self._after(missed, partial(self._give_up, broker, self._silences[broker]))

    def _is_silent(self, broker: BrokerId) -> bool:
        """True when frames of the other broker do not reach this one, which runs and has a stream."""
        here, there = self._ends[broker], self._ends[self.other(broker)]
        if here is None or here.frozen or not here.stream:
            return False
        return not self._directions[self.other(broker)].up or (there is not None and there.frozen)

    def _give_up(self, broker: BrokerId, silence: int) -> None:
        """Closes an end's stream if the silence has lasted; the other end notices where its direction is up."""
        end, opposite = self._ends[broker], self._ends[self.other(broker)]
        if end is None or silence != self._silences[broker] or not end.stream:
            return
        stream, number = end.stream, end.opposite_stream
        end.close_stream(stream)
        if self._stream is not None and self._stream.number_at(broker) == stream:
            self._stream = None
        if opposite is not None and not opposite.frozen and self._directions[broker].up:
            self._after(self._directions[broker].delay, partial(opposite.close_stream, number))

    @property
    def _round_trip(self) -> float:
        """Seconds."""
        return self._directions[self.a].delay + self._directions[self.b].delay

    def _after(self, seconds: float, call: Callable[[], None]) -> None:
        self._events.at(self._events.now + round(seconds * SECOND), call)
