"""Operations of a few clients: subscriptions that cover each other, that come and go, and bursts of publications."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from random import Random
from typing import Any

from studies.exploration.draws import magnitude, milliseconds, seconds, whole_magnitude, written

MOST_PUBLICATIONS = 60
MOST_BESIDE_COMPOSITES = 24
"""Publications of a run with composite subscriptions. Each set of three of them may be a detection: of 60, 34,000 are
sets, whose records alone look as if the run had no end."""
MOST_IN_STREAM = 40
"""Publications of a client that are drawn together."""
_MOST_PUBLISHERS = 3
_CLASSES = ("A", "B")
_HIGHEST = 5
"""The largest value of the attribute that ranges are over. Few values, so that ranges are equal or cover each other."""
_COMPOSITES = 0.3
"""Share of the runs with a composite subscription, around a scenario that has none."""
_PUBLISHED = 0.8
"""Share of the parts of composite subscriptions that some publisher publishes."""
_IN_JOIN = 0.7
"""Share of the subscriptions that are made before publishing begins."""
_WITHDRAWN = 0.4
"""Share of the subscriptions that are withdrawn."""
_ADVERTISEMENTS_WITHDRAWN = 0.15
_AGAIN = 0.5
"""Share of what is withdrawn that is made again, with the same id or another one."""
_LONG = 0.15
"""Share of the runs with long publications, of which a slow reader's connection holds few."""
_LEAST_BYTES, _MOST_BYTES = 500, 8_000
_STEADY = 0.5
"""Share of the runs in which every publisher publishes all the time, so that there is something to lose, to hold up and
to overtake whenever a fault comes and after it."""

Item = Mapping[str, Any]
"""An operation as scenarios list them."""
Timed = tuple[int, Item]
"""An operation and its time, nanoseconds since the start of the join phase."""


@dataclass(frozen=True, slots=True)
class Course:
    """Times of a run, nanoseconds since the start of its join phase."""

    join: int
    run: int

    @property
    def end(self) -> int:
        """The end of the run phase."""
        return self.join + self.run


@dataclass(slots=True)
class _Range:
    """Content: a class and a range of values."""

    of_class: str
    low: int
    high: int

    @classmethod
    def drawn(cls, random: Random) -> _Range:
        low = random.choice((0, 0, random.randint(0, _HIGHEST)))
        high = random.choice((_HIGHEST, random.randint(low, _HIGHEST)))
        return cls(random.choice((*_CLASSES[:1], *_CLASSES)), low, high)

    def written(self, attribute: str) -> str:
        return f"[class,eq,'{self.of_class}'],[{attribute},>=,{self.low}],[{attribute},<=,{self.high}]"


@dataclass(slots=True)
class OperationsDraw:
    """Draws the operations of one run."""

    random: Random
    brokers: Sequence[str]
    course: Course
    attribute: str = "x"
    """The attribute that ranges are over."""
    composites: bool = False
    """True where most of the runs are to have composite subscriptions."""
    _padding: str = ""
    """Attribute that makes publications long."""
    _items: list[Timed] = field(default_factory=list)
    _ids: count[int] = field(default_factory=lambda: count(1))

    def drawn(self) -> list[Timed]:
        """The operations with their times, in order of time."""
        random = self.random
        if random.random() < _LONG:
            self._padding = f",[padding,'{'x' * whole_magnitude(random, _LEAST_BYTES, _MOST_BYTES)}']"
        publishers = {
            f"P{number}": (random.choice(self.brokers), _Range.drawn(random))
            for number in range(1, random.randint(1, _MOST_PUBLISHERS) + 1)
        }
        for client, (broker, advertised) in publishers.items():
            self._advertise(client, broker, advertised)
        for number in range(1, random.randint(1, 5) + 1):
            self._subscriber(f"S{number}", random.choice(self.brokers))
        number = random.randint(1, 3) if self.composites else int(random.random() < _COMPOSITES)
        for _ in range(number):
            self._compose(f"C{next(self._ids)}", random.choice(self.brokers), [each for _, each in publishers.values()])
        most = MOST_BESIDE_COMPOSITES if number else MOST_PUBLICATIONS
        left = whole_magnitude(random, 4, most)
        if random.random() < _STEADY:
            each = most // _MOST_PUBLISHERS
            left -= sum(self._steady(client, *publisher, each) for client, publisher in publishers.items())
        while left > 0:
            client, (broker, advertised) = random.choice(tuple(publishers.items()))
            left -= self._stream(client, broker, advertised, left)
        return sorted(self._items, key=lambda timed: timed[0])

    def _add(self, at: int, client: str, broker: str, **verb: str) -> None:
        at = min(max(0, at), self.course.end - 1)
        self._items.append((at, {"at": written(at), "client": client, "broker": broker, **verb}))

    def _advertise(self, client: str, broker: str, advertised: _Range) -> None:
        random, course = self.random, self.course
        self._add(
            random.randint(0, course.join // 4), client, broker, id="a", advertise=advertised.written(self.attribute)
        )
        if random.random() < _ADVERTISEMENTS_WITHDRAWN:
            gone = random.randint(course.join, course.end)
            self._add(gone, client, broker, unadvertise="a")
            if random.random() < _AGAIN:
                content = advertised.written(self.attribute)
                self._add(self._soon_after(gone), client, broker, id="a", advertise=content)

    def _subscriber(self, client: str, broker: str) -> None:
        """A client's subscriptions, one after another: each may be withdrawn and made again."""
        random, course = self.random, self.course
        for number in range(1, whole_magnitude(random, 1, 4) + 1):
            in_join = random.random() < _IN_JOIN
            at = random.randint(course.join // 4, course.join) if in_join else random.randint(course.join, course.end)
            wanted = _Range.drawn(random).written(self.attribute)
            self._add(at, client, broker, id=f"s{number}", subscribe=wanted)
            if random.random() < _WITHDRAWN:
                gone = at + milliseconds(magnitude(random, 1, 5_000))
                self._add(gone, client, broker, unsubscribe=f"s{number}")
                if random.random() < _AGAIN:
                    name = random.choice((f"s{number}", f"s{number}again"))
                    self._add(self._soon_after(gone), client, broker, id=name, subscribe=wanted)

    def _soon_after(self, gone: int) -> int:
        """A time, often the same one, at which something is made again that is withdrawn then."""
        return gone + milliseconds(self.random.choice((0, magnitude(self.random, 1, 1_000))))

    def _compose(self, client: str, broker: str, advertised: Sequence[_Range]) -> None:
        """A composite subscription, most of whose parts are published."""
        random, course = self.random, self.course
        parts = []
        agreeing = random.random() < 0.5
        for _ in range(random.randint(2, 3)):
            wanted = random.choice(advertised) if random.random() < _PUBLISHED else _Range.drawn(random)
            part = wanted.written(self.attribute)
            parts.append(f"{{{part},[{self.attribute},eq,$I$X]}}" if agreeing else f"{{{part}}}")
        pattern = " & ".join(parts)
        within = written(seconds(magnitude(random, 0.05, 20)))
        at = random.randint(course.join // 4, course.join if random.random() < _IN_JOIN else course.end)
        self._add(at, client, broker, id="c", composite=pattern, within=within)
        if random.random() < _WITHDRAWN:
            gone = at + milliseconds(magnitude(random, 1, 5_000))
            self._add(gone, client, broker, unsubscribe="c")
            if random.random() < _AGAIN:
                self._add(self._soon_after(gone), client, broker, id="c", composite=pattern, within=within)

    def _stream(self, client: str, broker: str, advertised: _Range, most: int) -> int:
        """Publications of one client: all at once, one close after the other, or until the run's end. Returns their
        number."""
        random, course = self.random, self.course
        number = min(most, whole_magnitude(random, 1, MOST_IN_STREAM))
        at = random.randint(course.join, course.end)
        apart = random.choice((0, milliseconds(magnitude(random, 1, 500)), (course.end - at) // number))
        return self._publish(client, broker, advertised, [at + place * apart for place in range(number)])

    def _steady(self, client: str, broker: str, advertised: _Range, most: int) -> int:
        """Publications of one client all through the run. Returns their number."""
        apart = self.course.run // whole_magnitude(self.random, 4, most)
        begin = self.course.join + self.random.randrange(apart)
        return self._publish(client, broker, advertised, range(begin, self.course.end, apart))

    def _publish(self, client: str, broker: str, advertised: _Range, times: Sequence[int]) -> int:
        for at in times:
            value = self.random.randint(advertised.low, advertised.high)
            content = f"[class,'{advertised.of_class}'],[{self.attribute},{value}]{self._padding}"
            self._add(at, client, broker, publish=content)
        return len(times)
