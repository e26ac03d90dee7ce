"""Two link sessions joined by a wire on which anything can happen; every step is chosen by a number.

Frames wait on the wire until a step delivers them, streams break at any point and are noticed late, messages wait for
service, messages are taken back, either end is restarted with a new incarnation, and the link is removed and added
again, at one end before the other. After the steps, `heal` lets all that waits arrive.

A message must be handled once and in order, unless its sender's log names it: recalled, or dropped because a stream
broke. One that was recalled while the link was down may have been handled even so.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from broker_service.config import Limits
from broker_service.links.frames import Hello, LinkFrame, MessageFrame
from broker_service.links.greeting import RefusedError
from broker_service.links.overlay_link import OverlayLink
from broker_service.links.session import LinkSession
from broker_service.links.states import State
from broker_service.messages import Kind, Message
from broker_service.tracing.trace import Recorder
from record.log import Event
from record.time_units import SECOND
from tests.broker_service.overlay import ListTrace

LIMITS = Limits(window=6, batch=3, heartbeat=1.0)
MILLISECOND = SECOND // 1000
HEALING_ROUNDS = 60

Identity = tuple[int, int]
"""A broker's incarnation and the appearance of its link."""
Handled = dict[tuple[Identity, Identity], list[int]]
"""Numbers of messages, by the identities of their sender and of their receiver."""


class WrongError(AssertionError):
    """The sessions broke a promise; the text names it."""


class Broker:
    """The part of a broker that a session needs: it notes what it is given."""

    def __init__(
        self,
        id: str,
        identity: Identity,
        neighbour: str,
        clock: Callable[[], int],
        handled: Handled,
        limits: Limits = LIMITS,
        send_times: Callable[[], int] | None = None,
    ) -> None:
        self.id = id
        self.identity = identity
        self.incarnation, appearance = identity
        self.first: dict[int, int] = {}
        """Number of the first message that is meant for each incarnation of the neighbour."""
        self.put = 0
        self.trace = ListTrace(id)
        self.link = OverlayLink(
            neighbour, limits, clock, Recorder(self.trace, clock), appearance=appearance, send_times=send_times
        )
        self.recalled_down: set[int] = set()
        """Messages that were recalled while the link was down."""
        self._handled = handled

    def link_up(self, neighbour: str, incarnation: int, handled: int) -> None:
        if self.link.up:
            raise WrongError("a link comes up that is up")
        if incarnation not in self.first:
            self.first[incarnation] = self.put if self.first else 0
        self.link.connect(incarnation, handled)

    def link_down(self, neighbour: str) -> None:
        if not self.link.up:
            raise WrongError("a link goes down that is down")
        self.link.disconnect()

    def receive(self, neighbour: str, messages: Sequence[Message], arrived: int | None) -> None:
        for message in messages:
            self.link.received += 1
            incarnation, appearance, number = map(int, message.id.split(":"))
            self._handled[(incarnation, appearance), self.identity].append(number)

    def put_one(self) -> None:
        self.link.put(Message(Kind.PUBLISH, "{}:{}:{}".format(*self.identity, self.put)))
        self.put += 1

    def recall(self) -> None:
        messages = self.link.recall()
        if not self.link.up:
            self.recalled_down.update(int(message.id.split(":")[2]) for message in messages)

    def named(self, event: Event, *texts: str) -> set[int]:
        """Messages that records of the log name."""
        found = [record for record in self.trace.of(event) if not texts or record.text in texts]
        return {int((record.id or "").split(":")[2]) for record in found}


@dataclass(eq=False)
class Stream:
    """One connection. `numbers` are those of the two sessions; the second is 0 until the hello was accepted."""

    ends: tuple[End, End]
    numbers: list[int]
    frames: tuple[deque[LinkFrame], deque[LinkFrame]] = field(default_factory=lambda: (deque(), deque()))
    """Frames on the wire by the end that receives them."""
    broken: bool = False


class End:
    """One incarnation of a broker and its session."""

    def __init__(self, broker: Broker, session: LinkSession) -> None:
        self.broker = broker
        self.session = session
        self.stream: Stream | None = None
        self.served: deque[tuple[int, Sequence[Message]]] = deque()
        """Messages that wait for service, with the number of their stream."""


class TwoEnds:
    """Two link sessions and the wire between them. The end 0 dials."""

    def __init__(
        self,
        session: type[LinkSession] = LinkSession,
        limits: Limits = LIMITS,
        send_times: Callable[[], int] | None = None,
    ) -> None:
        self.now = 0
        self._send_times = send_times
        self._session = session
        self._limits = limits
        self._handled: tuple[Handled, Handled] = (defaultdict(list), defaultdict(list))
        """Messages handled at each end."""
        self._identities = [(1, 1), (1, 1)]
        self._streams: list[Stream] = []
        self._ends = [self._start(0), self._start(1)]

    def run(self, choices: Iterable[int]) -> None:
        """Takes a step for each number, heals, and checks. Raises `WrongError`, or whatever the sessions raise."""
        steps: list[Callable[[int], None]] = [
            self._put, self._put, self._write, self._write, self._deliver, self._deliver, self._serve, self._serve,
            self._dial, self._break, self._notice, self._wake, self._restart, self._recall, self._appear,
        ]  # fmt: skip
        for choice in choices:
            self.now += (choice // 1000) % 40 * MILLISECOND
            steps[choice % len(steps)](choice // len(steps))
            self._check_order()
        self._heal()
        self._check_order()
        self._check_all_arrived()

    # Steps

    def _put(self, choice: int) -> None:
        self._ends[choice % 2].broker.put_one()

    def _write(self, choice: int) -> None:
        end = self._ends[choice % 2]
        stream = end.stream
        if stream is None or stream.numbers[stream.ends.index(end)] != end.session.stream:
            return
        here = stream.ends.index(end)
        for frame in end.session.next_frames(self.now):
            if isinstance(frame, MessageFrame):
                self._check_acknowledgement(end, frame)
            stream.frames[1 - here].append(frame)

    def _deliver(self, choice: int) -> None:
        arriving = [(stream, to) for stream in self._streams for to in (0, 1) if stream.frames[to]]
        if arriving:
            stream, to = arriving[choice % len(arriving)]
            self._arrive(stream, to, stream.frames[to].popleft())

    def _arrive(self, stream: Stream, to: int, frame: LinkFrame) -> None:
        end = stream.ends[to]
        if end not in self._ends:
            return  # it has been restarted since
        if isinstance(frame, Hello) and self._refuses(end, frame):
            stream.broken = True
            return
        if to == 1 and not stream.numbers[1]:
            if isinstance(frame, Hello):
                stream.numbers[1] = end.session.accept(frame, self.now)
                end.stream = stream
            return
        messages = end.session.received(stream.numbers[to], frame, self.now)
        if messages:
            end.served.append((stream.numbers[to], messages))

    def _refuses(self, end: End, hello: Hello) -> bool:
        """True when an end refuses a hello. It may for a former incarnation and for another appearance of the link."""
        link = end.broker.link
        try:
            end.session._hellos.check(hello)
        except RefusedError:
            if hello.incarnation >= link.neighbour_incarnation and hello.appearance == link.appearance:
                raise
            return True
        return False

    def _serve(self, choice: int) -> None:
        end = self._ends[choice % 2]
        if end.served:
            end.session.handle(*end.served.popleft(), self.now)

    def _dial(self, _choice: int) -> None:
        end = self._ends[0]
        if end.session.state is State.CLOSED:
            stream = Stream((end, self._ends[1]), [end.session.dial(self.now), 0])
            end.stream = stream
            self._streams.append(stream)

    def _break(self, choice: int) -> None:
        """The wire is cut; what was sent before may still arrive."""
        if self._streams:
            self._streams[choice % len(self._streams)].broken = True

    def _notice(self, choice: int) -> None:
        """An end finds out that its stream is broken, and reads nothing more from it."""
        end = self._ends[choice % 2]
        if end.stream is not None and end.stream.broken:
            here = end.stream.ends.index(end)
            end.stream.frames[here].clear()
            end.session.closed(end.stream.numbers[here])
            end.stream = None

    def _wake(self, _choice: int) -> None:
        for end in self._ends:
            at = end.session.wake_at
            if at is not None and at <= self.now:
                end.session.wake(self.now)

    def _restart(self, choice: int) -> None:
        which = choice % 2
        if choice % 3 == 0:  # less often than other steps
            incarnation, appearance = self._identities[which]
            self._begin_anew(which, (incarnation + 1, appearance))

    def _recall(self, choice: int) -> None:
        if choice % 3 == 0:
            self._ends[choice % 2].broker.recall()

    def _appear(self, choice: int) -> None:
        """The link is removed and added again at one end, at the end that is behind if there is one."""
        if choice % 3 == 0:
            appearances = [appearance for _, appearance in self._identities]
            behind = appearances.index(min(appearances)) if appearances[0] != appearances[1] else choice % 2
            self._add_again(behind)

    def _add_again(self, which: int) -> None:
        end, (incarnation, appearance) = self._ends[which], self._identities[which]
        end.session.closed(end.session.stream)
        end.broker.link.vanish()
        if end.broker.link.queue_length or len(end.broker.link.retransmission.in_flight):
            raise WrongError("a link that vanished holds messages")
        self._begin_anew(which, (incarnation, appearance + 1))

    def _begin_anew(self, which: int, identity: Identity) -> None:
        if (stream := self._ends[which].stream) is not None:
            stream.broken = True
        self._identities[which] = identity
        self._ends[which] = self._start(which)

    def _start(self, which: int) -> End:
        identity, neighbour, limits = self._identities[which], "AB"[1 - which], self._limits
        handled = self._handled[which]
        broker = Broker("AB"[which], identity, neighbour, lambda: self.now, handled, limits, self._send_times)
        return End(broker, self._session(broker, broker.link, "tid", limits, heartbeat=None))

    # What must hold

    def _heal(self) -> None:
        """Breaks every stream, opens a new one and lets everything arrive, and one more message of each end."""
        while self._identities[0][1] != self._identities[1][1]:
            self._appear(0)
        for stream in self._streams:
            stream.broken = True
            for frames in stream.frames:
                frames.clear()
        for which in (0, 1):
            self._notice(which)
        self._streams.clear()
        for round in range(HEALING_ROUNDS):
            if round == HEALING_ROUNDS // 2:
                for end in self._ends:
                    end.broker.put_one()
            self.now += 50 * MILLISECOND
            self._dial(0)
            for which in (0, 1):
                self._write(which)
                for _ in range(8):
                    self._deliver(which)
                    self._serve(which)
            self._wake(0)

    def _check_acknowledgement(self, end: End, frame: MessageFrame) -> None:
        sender = (end.broker.link.neighbour_incarnation, end.broker.link.appearance)
        handled = self._handled[self._ends.index(end)][sender, end.broker.identity]
        if frame.acknowledged > len(handled):
            raise WrongError(f"{frame.acknowledged} messages are acknowledged, {len(handled)} were handled")

    def _check_order(self) -> None:
        for handled in self._handled:
            for (sender, receiver), numbers in handled.items():
                if sender[1] != receiver[1]:
                    raise WrongError(f"{numbers} of the appearance {sender[1]} were handled in {receiver[1]}")
                if numbers != sorted(set(numbers)):
                    raise WrongError(f"between {sender} and {receiver} {numbers} were handled")

    def _check_all_arrived(self) -> None:
        for sender, receiver in (self._ends, reversed(self._ends)):
            broker, identity = sender.broker, receiver.broker.identity
            put = set(range(broker.first[identity[0]], broker.put))
            handled = set(self._handled[self._ends.index(receiver)][broker.identity, identity])
            lost = broker.named(Event.DROPPED, "stream broke")
            recalled = broker.named(Event.RECALLED)
            if handled & lost or handled & (recalled - broker.recalled_down):
                raise WrongError(f"of {lost} that were lost and {recalled} recalled, {handled} were handled")
            if handled | lost & put | recalled & put != put:
                raise WrongError(f"of {put}, {handled} were handled, {recalled} recalled, {lost} lost")
