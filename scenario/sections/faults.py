"""The `faults` section: faults to inject, with their times and durations."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Discriminator, Field, PlainSerializer, Tag, WithJsonSchema, model_validator

from broker_service.config import Disturbance
from record.faults import FaultKind
from record.handover import Handover
from record.service_time import ServiceTime
from scenario.faults.conditions import (
    Away,
    Condition,
    Corrupted,
    Cut,
    Degraded,
    Disturbed,
    Down,
    LinkChange,
    Moving,
    Paused,
    Reset,
    Slowed,
    Throttled,
)
from scenario.faults.programs import Hold, Lift, Program, Repeat, Sequence, Wait
from scenario.faults.target_words import TargetError
from scenario.faults.targets import Targets
from scenario.faults.times import Counter, CountReached, Moment, Phase, When
from scenario.sections.section import Count as Number
from scenario.sections.section import CpuQuota, Name, Section
from scenario.sections.service_time import SendTimeField, ServiceTimeDistribution, ServiceTimeField, service_time
from scenario.sections.units import BIT_RATE, DURATION, SHARE, Duration, Share
from topology.link_properties import BrokerId, LinkDirection
from topology.sites import ClientHost

_MOMENT = re.compile(r"(?P<phase>[a-z]+)\s*(?:\+\s*(?P<offset>.+))?", re.DOTALL)
_COUNT = re.compile(r"(?P<number>[1-9]\d{0,11})\s+(?P<counter>[a-z]+)", re.ASCII)


def _moment(value: object) -> Moment:
    if isinstance(value, Moment):
        return value
    match = _MOMENT.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None:
        return Moment(DURATION.parse(value))
    if match["phase"] not in [phase.value for phase in Phase]:
        raise ValueError(f"there is no phase {match['phase']!r}: write 60s, join+5s or run+10s")
    return Moment(DURATION.parse(match["offset"]) if match["offset"] else 0.0, Phase(match["phase"]))


def _count(value: object) -> CountReached:
    if isinstance(value, CountReached):
        return value
    match = _COUNT.fullmatch(value.strip()) if isinstance(value, str) else None
    counters = [counter.value for counter in Counter]
    if match is None or match["counter"] not in counters:
        raise ValueError(f"expected a count of {' or '.join(counters)}, such as 1000 notifications; got {value!r}")
    return CountReached(int(match["number"]), Counter(match["counter"]))


@dataclass(frozen=True, slots=True)
class HeldBack:
    """A share of messages, and the seconds for which they are held back."""

    share: float = 0.0
    seconds: float = 0.0


def _held_back(value: object) -> HeldBack:
    if isinstance(value, HeldBack):
        return value
    share, by, time = value.partition(" by ") if isinstance(value, str) else ("", "", "")
    if not by:
        raise ValueError(f"expected a share by a duration, such as 2% by 50ms; got {value!r}")
    held = HeldBack(SHARE.parse(share), DURATION.parse(time))
    if not held.seconds:
        raise ValueError("messages are held back for a time above 0")
    return held


def _list(value: object) -> object:
    return [value] if isinstance(value, str) else value


def _form(value: Any) -> str:
    return "one way" if isinstance(value, Mapping | OneWay) else "groups"


def _shown(pattern: str, title: str, *examples: str) -> WithJsonSchema:
    return WithJsonSchema(
        {"type": "string", "pattern": rf"^\s*{pattern}\s*$", "title": title, "examples": list(examples)}
    )


def _names(title: str, *examples: str | list[str]) -> WithJsonSchema:
    """One name, or a list of them."""
    return WithJsonSchema(_NAMES | {"title": title, "examples": list(examples)})


_NAMES = {"type": ["string", "array"], "minLength": 1, "items": {"type": "string", "minLength": 1}, "minItems": 1}
_PHASES = "|".join(Phase)
_COUNTERS = "|".join(Counter)

Time = Annotated[
    Moment,
    BeforeValidator(_moment),
    PlainSerializer(lambda moment: f"{moment.phase.value}+{DURATION.format(moment.seconds)}"),
    WithJsonSchema(
        DURATION.schema(rf"(?:{DURATION.pattern}|(?:{_PHASES})(?:\s*\+\s*{DURATION.pattern})?)")
        | {"title": "time", "examples": ["60s", "run+10s"]}
    ),
]
Counted = Annotated[
    CountReached,
    BeforeValidator(_count),
    PlainSerializer(lambda count: f"{count.number} {count.counter.value}"),
    _shown(rf"[1-9][0-9]{{0,11}}\s+(?:{_COUNTERS})", "count", "1000 notifications", "500 publications"),
]
HeldShare = Annotated[
    HeldBack,
    BeforeValidator(_held_back),
    PlainSerializer(lambda held: f"{SHARE.format(held.share)} by {DURATION.format(held.seconds)}"),
    _shown(rf"{SHARE.pattern}\s* by \s*{DURATION.pattern}", "share by a duration", "2% by 50ms"),
]
BitRate = Annotated[
    float, BeforeValidator(BIT_RATE.parse), PlainSerializer(BIT_RATE.format), WithJsonSchema(BIT_RATE.schema())
]
Texts = Annotated[
    tuple[Annotated[str, Field(strict=True, min_length=1)], ...], BeforeValidator(_list), Field(min_length=1)
]
BrokerTexts = Annotated[Texts, _names("brokers", "B7", ["B1", "B2"], "hub", "random(3)")]
LinkTexts = Annotated[Texts, _names("links", "B1-B2", "B1->B2", "bridge", "random-link(2)", "links-of(B3)")]
HostTexts = Annotated[Texts, _names("sites and clients", "berlin", ["S1", "S2"], "random-site", "random-client(3)")]
Groups = Annotated[
    tuple[Texts, ...],
    Field(min_length=2),
    WithJsonSchema(
        {"type": "array", "items": _NAMES, "minItems": 2, "title": "groups of brokers"}
        | {"examples": [[["B1", "B2"], "rest"], ["hub", "random(2)", "rest"]]}
    ),
]


@dataclass(frozen=True, slots=True)
class _Settings:
    """The further fields that a verb takes."""

    needed: tuple[str, ...] = ()
    one_of: tuple[str, ...] = ()
    some_of: tuple[str, ...] = ()
    free: tuple[str, ...] = ("lasts",)

    def check(self, item: FaultItem, verb: str) -> None:
        """Raises `ValueError` for a field that is missing or does not belong to the verb."""
        given = [name for name in _ANY_SETTING if getattr(item, name) is not None]
        known = {*self.needed, *self.one_of, *self.some_of, *self.free}
        if strange := [name for name in given if name not in known]:
            raise ValueError(f"`{_written(strange[0])}` does not belong to {verb}")
        if missing := [name for name in self.needed if name not in given]:
            raise ValueError(f"{verb} needs {' and '.join(f'`{name}`' for name in missing)}")
        if self.one_of and len([name for name in self.one_of if name in given]) != 1:
            raise ValueError(f"{verb} needs exactly one of {', '.join(self.one_of)}")
        if self.some_of and not any(name in given for name in self.some_of):
            raise ValueError(f"{verb} needs at least one of {', '.join(self.some_of)}")


_SETTINGS: Mapping[str, _Settings] = {
    "kill": _Settings(),
    "stop": _Settings(),
    "restart": _Settings(free=()),
    "pause": _Settings(),
    "resume": _Settings(free=()),
    "slow": _Settings(one_of=("cpu", "service_time")),
    "partition": _Settings(),
    "link_down": _Settings(),
    "link_up": _Settings(free=()),
    "flap": _Settings(needed=("down", "up"), free=("lasts", "times")),
    "degrade": _Settings(some_of=("delay", "jitter", "loss", "bandwidth", "send_time")),
    "corrupt": _Settings(needed=("share",)),
    "reset": _Settings(free=()),
    "disturb": _Settings(some_of=("lose", "repeat", "hold")),
    "crash": _Settings(),
    "vanish": _Settings(),
    "move": _Settings(needed=("to",), free=("away", "handover", "overlap")),
    "heal": _Settings(free=()),
}
"""Each verb and its further fields."""
_LIFTING = frozenset({"restart", "resume", "link_up", "heal"})
_SHORTEST_FLAP = 0.001
"""Shortest `down` and `up` of a flapping link, in seconds."""
_MOST_FLAPS = 100_000
OVERLAP = 1.0
"""Seconds of a soft handover without `overlap`."""
_OF_LINKS = frozenset({"link_down", "flap", "degrade", "corrupt", "reset", "disturb"})
_OF_CLIENTS = frozenset({"crash", "vanish", "move"})
_BETWEEN_BROKERS = frozenset({"reset", "disturb"})
"""Verbs that mean nothing on an access link."""
_ANY_SETTING = (
    "lasts",
    "cpu",
    "service_time",
    "down",
    "up",
    "times",
    "delay",
    "jitter",
    "loss",
    "bandwidth",
    "send_time",
    "share",
    "lose",
    "repeat",
    "hold",
    "to",
    "handover",
    "away",
    "overlap",
)


def pausing(targets: Targets, named: Iterable[str]) -> list[BrokerId | ClientHost]:
    """Brokers, and hosts of clients. A name that both have is the broker's. Raises `TargetError`."""
    named, known = list(named), {broker.id for broker in targets.overlay.brokers}
    hosts = [text for text in named if text not in known and targets.of_sites.named(text)]
    brokers = [text for text in named if text not in hosts]
    return [*targets.brokers(brokers), *targets.of_sites.hosts(hosts)]


def require_times_of_handover(handover: Handover | None, away: object, overlap: object) -> None:
    """Raises `ValueError` for a time that does not belong to the handover; each is None where it is not given."""
    soft = handover is not None and handover.is_soft
    if soft and away is not None:
        raise ValueError("`away` does not belong to `make before break`, which leaves nobody without a network")
    if not soft and overlap is not None:
        raise ValueError("`overlap` belongs to `handover: make before break`")


def _written(name: str) -> str:
    """A field's name in the file."""
    return FaultItem.model_fields[name].alias or name


class OneWay(Section):
    """A partition in one direction: messages of some brokers do not reach the others, while the reverse works."""

    source: BrokerTexts = Field(alias="from")
    """Brokers whose messages are cut off."""
    target: BrokerTexts = Field(alias="to")
    """Brokers that do not receive them. One of the two fields may be `rest`."""


Partition = Annotated[
    Annotated[Groups, Tag("groups")] | Annotated[OneWay, Tag("one way")],
    Discriminator(_form),
]


class FaultItem(Section):
    """One fault, or the end of one: exactly one verb, and its time as `at` or `after`."""

    at: Time | None = None
    """Time since the start of the join phase, or of the phase named: `60s`, `run+10s`."""
    after: Counted | None = None
    """Count over all clients that triggers the fault: `1000 notifications`."""
    lasts: Duration | None = Field(default=None, alias="for")
    """Duration; without it, until a later entry ends the fault. All faults are healed before the drain phase."""

    kill: BrokerTexts | None = None
    """Crashes brokers (SIGKILL); `for` restarts them."""
    stop: BrokerTexts | None = None
    """Stops brokers in order (SIGTERM); `for` restarts them."""
    restart: BrokerTexts | None = None
    """Starts brokers that were killed or stopped, with empty tables."""
    pause: BrokerTexts | None = None
    """Freezes brokers, or clients on sites; their connections stay open."""
    resume: BrokerTexts | None = None
    """Ends a pause."""
    slow: BrokerTexts | None = None
    """Makes brokers slow: give `cpu` or `service_time`."""
    partition: Partition | None = None
    """Cuts every link between groups of brokers, one of which may be `rest`; `{from: B1, to: rest}` cuts one way."""
    link_down: LinkTexts | None = None
    """Cuts links; `B1->B2` cuts one direction."""
    link_up: LinkTexts | None = None
    """Restores links, whichever fault cut them, a partition included."""
    flap: LinkTexts | None = None
    """Links that are `down` and `up` in turn, for a duration or a number of `times`."""
    degrade: LinkTexts | None = None
    """Changes the `delay`, `jitter`, `loss`, `bandwidth` or `send_time` of links."""
    corrupt: LinkTexts | None = None
    """Damages a `share` of the frames on links; TCP sends them again."""
    reset: LinkTexts | None = None
    """Closes the stream between two brokers once; they open another one. `B1->B2`: B1 closes it, B2 finds out."""
    disturb: LinkTexts | None = None
    """Has brokers `lose`, `repeat` or `hold` back shares of the messages that links have delivered. Refused for a
    routing protocol that does not promise to survive it."""
    crash: HostTexts | None = None
    """Crashes clients on sites, or all of a site: their connections are reset, and what waits in them is lost. With
    `for` they come back then, and subscribe again."""
    vanish: HostTexts | None = None
    """Has sites vanish with their clients: no packet comes from them any more, not even a reset. With `for` they come
    back then, and their clients subscribe again."""
    move: HostTexts | None = None
    """Has sites go to another broker with their access links, or clients to another site (docs/clients.md)."""
    heal: Literal["all"] | None = None
    """`all`: ends every fault that lasts."""

    cpu: CpuQuota | None = None
    """For `slow`: CPU quota in cores."""
    service_time: ServiceTimeField | None = None
    """For `slow`: work added to each message, instead of `brokers.service_time`."""
    down: Duration | None = None
    """For `flap`: time for which the link is down."""
    up: Duration | None = None
    """For `flap`: time for which the link is up."""
    times: Number | None = None
    """For `flap`: number of times that the link goes down."""
    delay: Duration | None = None
    """For `degrade`: one-way delay."""
    jitter: Duration | None = None
    """For `degrade`: variation of the delay."""
    loss: Share | None = None
    """For `degrade`: share of the frames that is lost."""
    bandwidth: BitRate | None = None
    """For `degrade`: rate of the link."""
    send_time: SendTimeField | None = None
    """For `degrade`: time that a broker takes to send one message over the link."""
    share: Share | None = None
    """For `corrupt`: share of the frames that is damaged."""
    lose: Share | None = None
    """For `disturb`: share of messages that are lost."""
    repeat: Share | None = None
    """For `disturb`: share of messages that come twice."""
    hold: HeldShare | None = None
    """For `disturb`: share of messages that are held back, and the time: `2% by 50ms`."""
    to: Name | None = None
    """For `move`: broker to which a site goes, or site to which a client goes."""
    handover: Handover | None = None
    """For `move`: `unannounced` (without it), when the old broker finds out by silence; `announced`, when clients end
    their sessions with it before they go; or `make before break`, when they have sessions with both for a while."""
    away: Duration | None = None
    """For `move`: time without any network, between the old broker and the new one; 0 without it."""
    overlap: Duration | None = None
    """For `move` with `make before break`: time for which clients have both sessions; 1 s without it."""

    @model_validator(mode="after")
    def _fits_together(self) -> FaultItem:
        verbs = [verb for verb in _SETTINGS if getattr(self, verb) is not None]
        if len(verbs) != 1:
            raise ValueError(f"needs exactly one of {', '.join(_SETTINGS)}; got {', '.join(verbs) or 'none'}")
        if (self.at is None) == (self.after is None):
            raise ValueError("needs `at` or `after`, and not both")
        verb = verbs[0]
        _SETTINGS[verb].check(self, verb)
        return self

    @model_validator(mode="after")
    def _flaps_in_time(self) -> FaultItem:
        if self.times is not None and self.lasts is not None:
            raise ValueError("give `for` or `times`, and not both")
        if self.flap is not None and not (self.down and self.up):
            raise ValueError("`down` and `up` must be more than 0")
        if self.flap is not None and (self.down or 0.0) + (self.up or 0.0) < _SHORTEST_FLAP:
            raise ValueError(f"`down` and `up` must be {DURATION.format(_SHORTEST_FLAP)} together, at least")
        if self.flap is not None and (self._times() or 0) > _MOST_FLAPS:
            raise ValueError(f"the link goes down {self._times():,} times; {_MOST_FLAPS:,} is the most")
        return self

    @model_validator(mode="after")
    def _disturbs_within_reason(self) -> FaultItem:
        self._disturbance()
        return self

    @model_validator(mode="after")
    def _moves_one_way(self) -> FaultItem:
        require_times_of_handover(self.handover, self.away, self.overlap)
        return self

    @property
    def verb(self) -> str:
        return next(verb for verb in _SETTINGS if getattr(self, verb) is not None)

    @property
    def when(self) -> When:
        when = self.at or self.after
        assert when is not None
        return when

    def program(self, targets: Targets) -> Program:
        """The fault as a program on these targets. Raises `TargetError`."""
        if self.verb in _LIFTING:
            return self._lift(targets)
        conditions = tuple(self._conditions(targets))
        if self.flap is not None:
            return Repeat(Sequence((Hold(conditions, self.down), Wait(self.up or 0.0))), self._times())
        return Hold(conditions, self._holds())

    def _holds(self) -> float | None:
        """Seconds for which the fault's conditions hold; None until something lifts them."""
        if self.reset is not None:
            return 0.0
        if self.move is None:
            return self.lasts
        if self.handover is not None and self.handover.is_soft:
            return OVERLAP if self.overlap is None else self.overlap
        return self.away or 0.0

    def _lift(self, targets: Targets) -> Lift:
        named = getattr(self, self.verb)
        match self.verb:
            case "link_up":
                return Lift(Cut, frozenset(targets.directions(named)))
            case "heal":
                return Lift()
        if self.resume is not None:
            return Lift(Paused, frozenset(pausing(targets, named)))
        return Lift(Down, frozenset(targets.brokers(named)))

    def _conditions(self, targets: Targets) -> Iterable[Condition]:
        if self.partition is not None:
            return map(Cut, self._parted(targets, self.partition))
        named = getattr(self, self.verb)
        if self.pause is not None:
            return map(Paused, pausing(targets, self.pause))
        if self.verb in _OF_CLIENTS:
            return self._of_clients(targets, named)
        if self.verb in _OF_LINKS:
            return map(self._link_condition, self._of_links(targets, named))
        return map(self._broker_condition, targets.brokers(named))

    def _of_clients(self, targets: Targets, named: Iterable[str]) -> Iterable[Condition]:
        match self.verb:
            case "vanish":
                return self._vanishing(targets, named)
            case "move":
                return self._moving(targets, named)
        return (Away(host, FaultKind.CRASH) for host in targets.of_sites.hosts(named))

    def _vanishing(self, targets: Targets, named: Iterable[str]) -> Iterator[Condition]:
        """Conditions of sites that vanish: each is cut off, too, so that nothing that it still sends arrives."""
        for host in targets.of_sites.whole(named):
            yield from map(Cut, targets.of_sites.access(host))
            yield Away(host, FaultKind.VANISH)

    def _moving(self, targets: Targets, named: Iterable[str]) -> Iterator[Condition]:
        """Conditions of hosts that move."""
        assert self.to is not None
        handover = self.handover or Handover.UNANNOUNCED
        brokers = [broker.id for broker in targets.overlay.brokers]
        for host in targets.of_sites.moving(named, self.to, brokers):
            yield Moving(host, self.to, handover)

    def _of_links(self, targets: Targets, named: Iterable[str]) -> tuple[LinkDirection, ...]:
        directions = targets.directions(named)
        for direction in directions if self.verb in _BETWEEN_BROKERS or self.send_time is not None else ():
            if targets.of_sites.has(direction):
                what = "`send_time`" if self.send_time is not None else f"`{self.verb}`"
                raise TargetError(f"{what} is for links between brokers, and {direction} is an access link")
        return directions

    def _sending(self) -> ServiceTime | None:
        if isinstance(self.send_time, ServiceTimeDistribution):
            return self.send_time.service_time()
        return None if self.send_time is None else ServiceTime(mean=self.send_time)

    def _disturbance(self) -> Disturbance:
        """Raises `ValueError` for shares that exceed 1 together."""
        held = self.hold or HeldBack()
        return Disturbance(lose=self.lose or 0.0, repeat=self.repeat or 0.0, hold=held.share, held_for=held.seconds)

    def _times(self) -> int | None:
        """Number of times that a link goes down: every time that starts within `for`."""
        if self.lasts is None:
            return self.times
        return max(1, math.ceil(self.lasts / ((self.down or 0.0) + (self.up or 0.0))))

    def _parted(self, targets: Targets, partition: OneWay | tuple[tuple[str, ...], ...]) -> tuple[LinkDirection, ...]:
        if isinstance(partition, OneWay):
            return targets.one_way(partition.source, partition.target)
        return targets.partition(partition)

    def _broker_condition(self, broker: BrokerId) -> Condition:
        match self.verb:
            case "kill":
                return Down(broker, FaultKind.KILL)
            case "stop":
                return Down(broker, FaultKind.STOP)
        if self.cpu is not None:
            return Throttled(broker, self.cpu)
        assert self.service_time is not None
        return Slowed(broker, service_time(self.service_time))

    def _link_condition(self, direction: LinkDirection) -> Condition:
        match self.verb:
            case "degrade":
                send_time = self._sending()
                return Degraded(direction, LinkChange(self.delay, self.jitter, self.loss, self.bandwidth, send_time))
            case "corrupt":
                return Corrupted(direction, self.share or 0.0)
            case "reset":
                return Reset(direction)
            case "disturb":
                return Disturbed(direction, self._disturbance())
        return Cut(direction)
