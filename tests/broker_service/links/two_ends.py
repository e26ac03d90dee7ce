"""Two link sessions joined by a wire on which anything can happen; every step is chosen by a number.

Frames wait on the wire until a step delivers them, streams break at any point and are noticed late, messages wait for
service, and either end is restarted with a new incarnation. After the steps, `heal` lets all that waits arrive.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from broker_service.config import Limits
from broker_service.links.frames import Hello, LinkFrame, MessageFrame
from broker_service.links.overlay_link import OverlayLink
from broker_service.links.pacing import NANOSECONDS
from broker_service.links.session import LinkSession
from broker_service.links.states import State
from broker_service.messages import Kind, Message
from broker_service.trace import Recorder
from tests.broker_service.overlay import ListTrace

LIMITS = Limits(window=6, batch=3, heartbeat=1.0)
MILLISECOND = NANOSECONDS // 1000
HEALING_ROUNDS = 60

Handled = dict[tuple[int, int], list[int]]
"""Numbers of messages, by the incarnations of their sender and of their receiver."""


class WrongError(AssertionError):
    """The sessions broke a promise; the text names it."""


class Broker:
    """As much of a broker as a session needs: it notes what it is given."""

    def __init__(
        self,
        id: str,
        incarnation: int,
        neighbour: str,
        clock: Callable[[], int],
        handled: Handled,
        limits: Limits = LIMITS,
    ) -> None:
        self.id = id
        self.incarnation = incarnation
        self.first: dict[int, int] = {}
        """By incarnation of the neighbour, the number of the first message that is meant for it."""
        self.put = 0
        self.link = OverlayLink(neighbour, limits, clock, Recorder(ListTrace(id), clock))
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

    def receive(self, neighbour: str, messages: Sequence[Message]) -> None:
        for message in messages:
            self.link.received += 1
            sender, number = message.id.split(":")
            self._handled[int(sender), self.incarnation].append(int(number))

    def put_one(self) -> None:
        self.link.put(Message(Kind.PUBLISH, f"{self.incarnation}:{self.put}"))
        self.put += 1


@dataclass(eq=False)
class Stream:
    """One connection. `numbers` are those of the two sessions; the second is 0 until the hello was accepted."""

    ends: tuple[End, End]
    numbers: list[int]
    frames: tuple[deque[LinkFrame], deque[LinkFrame]] = field(default_factory=lambda: (deque(), deque()))
    """By receiver."""
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
    """See the module. The end 0 dials."""

    def __init__(self, session: type[LinkSession] = LinkSession) -> None:
        self.now = 0
        self._session = session
        self._handled: tuple[Handled, Handled] = (defaultdict(list), defaultdict(list))
        """By receiver."""
        self._incarnations = [0, 0]
        self._streams: list[Stream] = []
        self._ends = [self._start(0), self._start(1)]

    def run(self, choices: Iterable[int]) -> None:
        """Takes a step for each number, heals, and checks. Raises `WrongError`, or whatever the sessions raise."""
        steps: list[Callable[[int], None]] = [
            self._put, self._put, self._write, self._write, self._deliver, self._deliver, self._serve, self._serve,
            self._dial, self._break, self._notice, self._wake, self._restart,
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
        if to == 1 and not stream.numbers[1]:
            if isinstance(frame, Hello) and frame.incarnation >= end.broker.link.neighbour_incarnation:
                stream.numbers[1] = end.session.accept(frame, self.now)
                end.stream = stream
            return
        messages = end.session.received(stream.numbers[to], frame, self.now)
        if messages:
            end.served.append((stream.numbers[to], messages))

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
            if (stream := self._ends[which].stream) is not None:
                stream.broken = True
            self._ends[which] = self._start(which)

    def _start(self, which: int) -> End:
        self._incarnations[which] += 1
        neighbour = "AB"[1 - which]
        broker = Broker("AB"[which], self._incarnations[which], neighbour, lambda: self.now, self._handled[which])
        return End(broker, self._session(broker, broker.link, "tid", LIMITS, heartbeat=None))

    # What must hold

    def _heal(self) -> None:
        """Breaks every stream, opens a new one and lets everything arrive."""
        for stream in self._streams:
            stream.broken = True
            for frames in stream.frames:
                frames.clear()
        for which in (0, 1):
            self._notice(which)
        self._streams.clear()
        for _ in range(HEALING_ROUNDS):
            self.now += 50 * MILLISECOND
            self._dial(0)
            for which in (0, 1):
                self._write(which)
                for _ in range(8):
                    self._deliver(which)
                    self._serve(which)
            self._wake(0)

    def _check_acknowledgement(self, end: End, frame: MessageFrame) -> None:
        sender = end.broker.link.neighbour_incarnation
        handled = self._handled[self._ends.index(end)][sender, end.broker.incarnation]
        if frame.acknowledged > len(handled):
            raise WrongError(f"{frame.acknowledged} messages are acknowledged, {len(handled)} were handled")

    def _check_order(self) -> None:
        for handled in self._handled:
            for pair, numbers in handled.items():
                if numbers and numbers != list(range(numbers[0], numbers[0] + len(numbers))):
                    raise WrongError(f"between the incarnations {pair} {numbers} were handled")

    def _check_all_arrived(self) -> None:
        for sender, receiver in (self._ends, reversed(self._ends)):
            broker, incarnation = sender.broker, receiver.broker.incarnation
            expected = list(range(broker.first[incarnation], broker.put))
            handled = self._handled[self._ends.index(receiver)][broker.incarnation, incarnation]
            if handled != expected:
                raise WrongError(f"of {expected}, {handled} were handled")
