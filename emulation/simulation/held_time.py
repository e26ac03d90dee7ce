"""Virtual time under a holder's hands: at a speed, standing still, by steps, and up to a record of the log.

Nothing of a run depends on the pace at which its time passes, but for a fault that waits for a count, which is looked
at whenever time stops.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Container

from emulation.held.awaited_records import AwaitedRecord, RecordWatch
from emulation.held.hold import Asked
from emulation.held.requests import Done, Refused, SpeedRequest, StepRequest, TimeRequest, UntilRequest
from emulation.simulation.throttle import Throttle
from record.errors import BadInputError
from record.time_units import MILLISECOND, SECOND
from scenario.sections.units import DURATION

SLOWEST, FASTEST = 0.01, 1e6
"""Seconds of virtual time that may pass in a second."""
_LOOK = 0.05
"""Seconds between two looks at what users ask for."""
_GRID = 10 * MILLISECOND
"""Nanoseconds of virtual time of which requests are answered at multiples, so that saved times are short."""


class VirtualTime:
    """A `emulation.run.hands.Passing` of time that is made to pass."""

    lead = 0
    grain = 1

    def __init__(
        self,
        speed: float,
        *,
        following: Callable[[], int | None],
        watch: RecordWatch,
        nodes: Container[str],
        wait: Callable[[float], None],
        flush: Callable[[], None],
        most: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`following` gives the time of the next thing that happens; `watch` sees the records of the `nodes`; `wait`
        sleeps seconds of the `clock`; `flush` writes logs; after `most` such seconds the run ends by itself.

        Raises `BadInputError` for a speed that is none.
        """
        self._speed = speed
        require_speed(speed)
        self._following = following
        self._watch = watch
        self._nodes = nodes
        self._wait = wait
        self._flush = flush
        self._most = most
        self._clock = clock
        self._throttle = self._throttled()
        self._began = 0.0
        """The clock at the start of the hold."""
        self._start = 0
        """Virtual time of the start of the workload."""
        self._goal = 0
        """Virtual time at which time is to stand still, where somebody waits for it."""
        self._awaited: str | None = None
        """The record at which time is to stand still before."""
        self._asked: Asked | None = None
        """The request for a time or a record that has not come yet."""
        self._looked = 0.0
        self.arrived = False

    def begin(self, start: int) -> None:
        self._start, self._began = start, self._clock()

    def stop(self, now: int, limit: int) -> int:
        if self._asked is None:
            step = max(_GRID, round(self._speed * _LOOK * SECOND) // _GRID * _GRID)
            return min(limit, self._start + ((now - self._start) // step + 1) * step) if self._speed else now
        limit = min(limit, self._goal)
        if self._awaited is None:
            return limit
        following = self._following()
        return min(limit, now + _GRID if following is None else max(now + 1, following))

    def passed(self, now: int) -> bool:
        if self._asked is not None:
            self.arrived = self._watch.met or now >= self._goal
            if self.arrived:
                self._flush()
            return self.arrived or self._is_due()
        if self._speed:
            self._throttle.hold(now)
            return (now - self._start) % _GRID == 0
        self._flush()
        self._wait(_LOOK)
        return True

    def control(self, asked: Asked, request: TimeRequest, now: int) -> None:
        try:
            self._follow(asked, request, now)
        except BadInputError as error:
            asked.answer.set_result(Refused(str(error)))

    def answer(self, now: int) -> None:
        if self.arrived and self._asked is not None:
            asked, self._asked, self.arrived = self._asked, None, False
            missed = self._awaited is not None and not self._watch.met
            self._watch.expect(None)
            where = f"{self._shown(now)}: {self.pace}"
            asked.answer.set_result(Refused(f"no {self._awaited!r} has come: {where}") if missed else Done(where))

    def over(self) -> str:
        if self._clock() - self._began >= self._most:
            return f"its time limit of {DURATION.format(self._most)} has passed in real time"
        return ""

    def end(self, now: int) -> None:
        self._give_up("the run ends", now)
        self._flush()

    @property
    def pace(self) -> str:
        if self._asked is not None and not self.arrived:
            return "time passes as fast as it can, to where it was told"
        return f"{self._speed:g} s pass in a second" if self._speed else "time stands still"

    def _follow(self, asked: Asked, request: TimeRequest, now: int) -> None:
        """Raises `BadInputError` for what cannot be followed."""
        awaited, name = None, None
        match request:
            case SpeedRequest(speed):
                require_speed(speed)
                self._give_up("another pace was asked for", now)
                self._speed = speed
                self._throttle = self._throttled()
                self._throttle.hold(now)
                asked.answer.set_result(Done(f"{self._shown(now)}: {self.pace}"))
                return
            case StepRequest(lasts):
                if lasts < 1:
                    raise BadInputError("a step takes some time, such as 100ms")
                goal = now + lasts
            case UntilRequest(record, within):
                goal, name = now + within, record
                awaited = AwaitedRecord.parse(record)
                if (node := awaited.node) not in self._nodes:
                    raise BadInputError(f"{node} has no log in this run; name a broker, publishers or subscribers")
        self._give_up("another moment was asked for", now)
        self._watch.expect(awaited)
        self._goal, self._awaited, self._asked, self._speed = goal, name, asked, 0.0

    def _is_due(self) -> bool:
        """True where users are to be looked at, while time passes as fast as it can."""
        if due := (real := self._clock()) >= self._looked + _LOOK:
            self._looked = real
        return due

    def _give_up(self, reason: str, now: int) -> None:
        if self._asked is not None:
            self._asked.answer.set_result(Refused(f"it has not come by {self._shown(now)}, when {reason}"))
        self._asked, self.arrived = None, False
        self._watch.expect(None)

    def _shown(self, now: int) -> str:
        seconds = f"{(now - self._start) / SECOND:.9f}".rstrip("0").rstrip(".")
        return f"{seconds} s after clients began to join"

    def _throttled(self) -> Throttle:
        return Throttle(self._speed or 1.0, self._wait, self._flush, self._clock)


def require_speed(speed: float) -> None:
    """Raises `BadInputError` for a speed that time cannot have."""
    if speed and not SLOWEST <= speed <= FASTEST:
        raise BadInputError(
            f"a speed of {speed:g}: choose 0, at which time stands still, or {SLOWEST:g} to {FASTEST:,.0f}"
        )
