"""One end of an overlay link: the output queue, and the row of the link status table.

A message is *waiting* until `take` hands it to the transport, then *in flight* until the neighbour acknowledges it. No
more than `window` are in flight, so a slow link makes messages wait here, where the link status table sees them, and
not in socket buffers. After a broken stream the neighbour reports how many messages it has handled, and the others
travel again (`retransmission`), so that nothing is lost or doubled between two brokers that both keep running. Without
`Limits.resume` they are dropped instead, and what waited is dropped when the stream breaks. The router may `recall`
what the neighbour has not got.

Publications in the queue have one bound, all other messages another. A publication that finds no room is one loss; a
(un)subscription or (un)advertisement would be missed for ever, because brokers that keep running never send it again.
With separate bounds no flood of publications crowds those out.

Window and queue are bounded by number, which experiments vary, and by size, which protects the broker's memory:
messages of a megabyte are permitted, and a full queue of those would take a hundred gigabytes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, Final

from broker_service.config import Limits
from broker_service.links.flow import Flow, LinkFlow, SentWindow
from broker_service.links.retransmission import RetransmissionQueue
from broker_service.links.sending import Sending, Turns
from broker_service.messages import BrokerId, Kind, Message
from broker_service.tracing.trace import Recorder
from record.callbacks import do_nothing
from record.log import Event
from record.time_units import SECOND

STREAM_BROKE = "stream broke"
"""Reason in the log for which messages are lost on a link that does not resume."""

NO_ATTRIBUTES: Mapping[str, Any] = MappingProxyType({})

_NOTHING: Final[deque[tuple[int, int, Message]]] = deque(maxlen=0)
"""Queue of every link at which nothing waits: one of its own takes 0.6 KB, and a mesh has a hundred thousand ends."""
_PUBLISH: Final = Kind.PUBLISH  # looked up once: a member of an enumeration takes 0.1 us in Python 3.11


class OverlayLink:
    """The end of an overlay link at one broker.

    `up` is the status that the router relies on, `connected` states that a stream is open. They differ at a link that
    rests (`rest`): it has no stream until a message waits.

    `on_waiting` is called whenever a message was put into the queue; `take` then returns the messages that may travel.
    """

    __slots__ = (
        "_ahead",
        "_batch",
        "_clock",
        "_flows",
        "_limits",
        "_most_bytes",
        "_most_others",
        "_most_publications",
        "_publication_bytes",
        "_recorder",
        "_resumes",
        "_sent_window",
        "_turns",
        "_waiting",
        "appearance",
        "attributes",
        "connected",
        "dropped",
        "neighbour",
        "neighbour_incarnation",
        "on_waiting",
        "others_bytes",
        "others_waiting",
        "publications",
        "received",
        "retransmission",
        "round_trip",
        "sending",
        "sent",
        "sent_bytes",
        "up",
        "waited",
    )

    def __init__(
        self,
        neighbour: BrokerId,
        limits: Limits,
        clock: Callable[[], int],
        recorder: Recorder,
        *,
        attributes: Mapping[str, Any] = NO_ATTRIBUTES,
        appearance: int = 1,
        send_times: Callable[[], int] | None = None,
        turns: Turns | None = None,
    ) -> None:
        """`attributes` are the neighbour's overlay attributes, `appearance` is as in `LinkConfig`.

        `send_times` draws the time that sending a message takes, in nanoseconds; None where it takes none. `turns` are
        those of all links of the broker where they send in turn; None where each has its own.
        """
        self.neighbour = neighbour
        self.attributes = attributes
        self.appearance = appearance
        self._turns = turns
        self.sending = None if send_times is None else Sending(self, send_times, turns or Turns())
        """The sending of messages; None where it takes no time."""
        self.round_trip: float | None = None
        """Shortest round trip in seconds that the link's session has measured; None before the first."""
        self.on_waiting: Callable[[], None] = do_nothing
        self.up = False
        self.connected = False
        self.neighbour_incarnation = 0
        self.sent = 0
        """Messages handed to the transport, repeats not counted."""
        self.sent_bytes = 0
        """Size of those messages."""
        self.publications = 0
        """Publications among the messages sent."""
        self.waited = 0
        """Nanoseconds that those messages spent in the output queue, all together."""
        self.received = 0
        """Messages of the neighbour's present incarnation that were handled here."""
        self.dropped = 0
        self.retransmission = RetransmissionQueue(neighbour, limits)
        """Messages that the neighbour's present incarnation has not acknowledged."""
        self._limits = limits
        self._batch = limits.batch
        self._most_publications = limits.link_queue
        self._most_others = limits.control_queue
        self._most_bytes = limits.queue_bytes
        self._resumes = limits.resume
        self._clock = clock
        self._recorder = recorder
        self._waiting = _NOTHING
        """Messages that wait, each with the time of entering and its size in bytes."""
        self._ahead = 0
        """Messages at the front of those waiting that were put ahead of the others."""
        self._publication_bytes = 0
        """Bytes of the waiting publications."""
        self.others_waiting = 0
        """Messages waiting that are no publications, those that must travel again not included."""
        self.others_bytes = 0
        """Bytes of them."""
        self._sent_window = SentWindow(limits.utilisation_window)
        self._flows: dict[float, LinkFlow] = {}
        """Flow over this link by the interval over which it is measured, in seconds."""

    @property
    def queue_length(self) -> int:
        """Messages waiting, those that must travel again included."""
        return len(self._waiting) + len(self.retransmission.repeats)

    @property
    def waiting_since(self) -> int:
        """The time at which the message that travels next entered the queue; 0 for one that travels again."""
        return self._waiting[0][0] if self._waiting and not self.retransmission.repeats else 0

    @property
    def sendable(self) -> bool:
        """True when a message may travel now."""
        waiting, retransmission = self._waiting, self.retransmission
        repeats = retransmission.repeats
        if not (waiting or repeats) or not self.connected:
            return False
        if len(retransmission.in_flight) >= retransmission.window:
            return False
        return not retransmission.in_flight_bytes or retransmission.fits(repeats[0].size if repeats else waiting[0][1])

    def flow(self, interval: float) -> Flow:
        """Messages that entered the queue and left it in the last complete interval of this many seconds.

        Repeats do neither. Intervals of one length follow one another from the first call on; messages before it are
        not counted.
        """
        now = self._clock()
        flow = self._flows.get(interval)
        if flow is None:
            flow = self._flows[interval] = LinkFlow(round(interval * SECOND), now)
        return flow.last(now)

    @property
    def utilisation(self) -> float:
        """U = r_output / r_sending over the window (TID paper, section 3.3), at least 1; infinite when down.

        A backlog the window began with counts as having entered at its start, so that a queue that is long but no
        longer growing does not look idle: what entered is then what was sent plus what still waits.
        """
        if not self.up:
            return float("inf")
        if not self.queue_length:
            return 1.0
        return 1.0 + self.queue_length / max(1, self._sent_window.count(self._clock(), self.sent))

    def put(self, message: Message) -> None:
        """Queues a message. Drops it, counted and logged, when its share of the queue is full."""
        waiting, others = self._waiting, self.others_waiting
        size = len(message.body) + len(message.header)
        if message.kind is _PUBLISH:
            occupied = self._publication_bytes + size
            if len(waiting) - others >= self._most_publications or occupied > self._most_bytes:
                self._drop("output queue full", message)
                return
            self._publication_bytes = occupied
        else:
            occupied = self.others_bytes + size
            if others >= self._most_others or occupied > self._most_bytes:
                self._drop("output queue full of control messages", message)
                return
            self.others_waiting = others + 1
            self.others_bytes = occupied
        now = self._clock()
        if waiting is _NOTHING:
            waiting = self._waiting = deque()
        waiting.append((now, size, message))
        if self._flows:
            for flow in self._flows.values():
                flow.enter(now)
        self.on_waiting()

    def put_ahead(self, message: Message) -> None:
        """Queues a message before those that were put otherwise. Drops it as `put` does."""
        length = len(self._waiting)
        self.put(message)
        waiting = self._waiting
        if len(waiting) > length:
            waiting.insert(self._ahead, waiting.pop())
            self._ahead += 1

    def recall(self) -> list[Message]:
        """Takes back, and logs, what waits; without a stream, also what is in flight on a link that resumes."""
        messages: list[Message] = []
        if not self.connected and self._resumes:
            messages += self.retransmission.recall_in_flight()
        messages += self.retransmission.recall_repeats()
        messages += self._take_back()
        for message in messages:
            self._recorder.message(Event.RECALLED, message, peer=self.neighbour)
        return messages

    def take(self, most: int | None = None) -> list[Message]:
        """The next messages for one frame: at most a batch, or `most`, and no more than the window has room for.

        Fewer than that means that nothing else may travel now.
        """
        messages: list[Message] = []
        retransmission = self.retransmission
        repeats = retransmission.repeats
        if not (self._waiting or repeats) or not self.connected:
            return messages
        in_flight = retransmission.in_flight
        count, room = self._batch if most is None else most, retransmission.window - len(in_flight)
        count = min(count, room)
        if repeats:
            count -= retransmission.take_repeats(messages, count)
        if count > 0 and self._waiting and not repeats:
            self._take_waiting(messages, count)
        in_flight += messages
        return messages

    def change_send_times(self, send_times: Callable[[], int] | None) -> None:
        """Has the next messages take other times to be sent; None: no time.

        The session drops a sending that takes no time any more, once the message that is being sent has left.
        """
        if self.sending is not None:
            self.sending.draw = send_times
        elif send_times is not None:
            self.sending = Sending(self, send_times, self._turns or Turns())

    def retransmission_to(self, incarnation: int) -> RetransmissionQueue:
        """The queue to this incarnation of the neighbour: an empty one when it is another than before."""
        if incarnation == self.neighbour_incarnation:
            return self.retransmission
        return RetransmissionQueue(self.neighbour, self._limits)

    def connect(self, incarnation: int, handled: int) -> None:
        """Notes that a stream is open to this incarnation of the neighbour, which has handled `handled` messages.

        Raises `ValueError` when it cannot have; nothing is changed then.
        """
        retransmission = self.retransmission_to(incarnation)
        retransmission.check(handled)
        if retransmission is not self.retransmission:
            if self.neighbour_incarnation:  # the new one has no use for what was meant for the former one
                self._drop("neighbour restarted", *self.retransmission.recall(), *self._take_back())
            self.retransmission, self.neighbour_incarnation, self.received = retransmission, incarnation, 0
        retransmission.resume(handled)
        if not self._resumes:
            self._drop(STREAM_BROKE, *retransmission.recall_repeats())
        self.up = self.connected = True

    def disconnect(self) -> None:
        """Notes that the stream broke; messages in flight wait until `connect` learns which of them were handled."""
        self.up = self.connected = False
        if not self._resumes:
            self._drop(STREAM_BROKE, *self._take_back())

    def vanish(self) -> None:
        """Drops everything that waits or is in flight, because the link is removed."""
        self.up = self.connected = False
        self._drop("link vanished", *self.retransmission.recall(), *self._take_back())

    @property
    def idle(self) -> bool:
        """True when no message waits or is in flight."""
        return not self._waiting and self.retransmission.empty

    def rest(self) -> None:
        """Notes that an idle link has no stream until it is used; nothing is known against its neighbour."""
        self.up, self.connected = True, False

    def _take_waiting(self, messages: list[Message], count: int) -> None:
        now = self._clock()
        waiting = self._waiting
        recorder, neighbour = self._recorder, self.neighbour
        retransmission = self.retransmission
        in_flight, room = retransmission.in_flight_bytes, retransmission.window_bytes
        others = others_bytes = 0
        taken = waited = 0
        while taken < count and waiting:
            entry = entered, size, message = waiting.popleft()
            if in_flight + size > room and in_flight:
                waiting.appendleft(entry)
                break
            in_flight += size
            taken += 1
            if message.kind is not _PUBLISH:
                others += 1
                others_bytes += size
            messages.append(message)
            wait = now - entered
            waited += wait
            if self.sending is None:
                recorder.sent(message, now, wait, neighbour, len(waiting))
            else:
                self.sending.record = partial(recorder.sent, message, now, wait, neighbour, len(waiting))
        if not waiting:
            self._waiting = _NOTHING
        if self._ahead:
            self._ahead = max(0, self._ahead - taken)
        taken_bytes = in_flight - retransmission.in_flight_bytes
        self._publication_bytes -= taken_bytes - others_bytes
        if others:
            self.others_waiting -= others
            self.others_bytes -= others_bytes
        retransmission.in_flight_bytes = in_flight
        self.sent += taken
        self.sent_bytes += taken_bytes
        self.publications += taken - others
        self.waited += waited
        if self._flows:
            for flow in self._flows.values():
                flow.leave(now, taken)
        if now >= self._sent_window.due_at:
            self._sent_window.note(now, self.sent)

    def _take_back(self) -> list[Message]:
        """Takes back what waits."""
        waiting, self._waiting = self._waiting, _NOTHING
        self._ahead = self._publication_bytes = self.others_waiting = self.others_bytes = 0
        return [message for _, _, message in waiting]

    def _drop(self, reason: str, *messages: Message) -> None:
        self.dropped += len(messages)
        for message in messages:
            self._recorder.message(Event.DROPPED, message, peer=self.neighbour, text=reason, count=1)
