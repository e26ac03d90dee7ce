"""From actions to deeds: the contract of whoever acts on brokers and links, and the log of what was done.

Records are written when the deed is done, and say how long it took. A `fault` has the time at which the deed began, a
`healed` that at which it was done, so that all that a fault can have spoilt lies between the two.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

from broker_service.service_time import ServiceTime
from broker_service.trace import Trace
from emulation.faults.injector import Action
from record.faults import FaultKind, HealKind
from record.log import Event, TraceRecord
from topology import BrokerId, LinkDirection, LinkProperties


class Actuator(Protocol):
    """Acts on the brokers and links of one variant. Returns when done; raises `HostError` when the host refuses.

    The three of `resume`, `throttle(None)` and `slow(None)` do nothing to a broker that is down: it will
    be restarted as it was at first.
    """

    def kill(self, broker: BrokerId) -> None: ...

    def stop(self, broker: BrokerId) -> None: ...

    def restart(self, broker: BrokerId) -> None: ...

    def pause(self, broker: BrokerId) -> None: ...

    def resume(self, broker: BrokerId) -> None: ...

    def throttle(self, broker: BrokerId, cores: float | None) -> None:
        """None: as many as the scenario gives it."""

    def slow(self, broker: BrokerId, service_time: ServiceTime | None) -> None:
        """None: its own."""

    def cut(self, direction: LinkDirection) -> None: ...

    def restore(self, direction: LinkDirection) -> None: ...

    def change(self, direction: LinkDirection, properties: LinkProperties) -> None: ...

    def corrupt(self, direction: LinkDirection, share: float) -> None: ...


def perform(actions: Iterable[Action], actuator: Actuator, trace: Trace, clock: Callable[[], int]) -> Iterator[Action]:
    """Does one action after another and writes it down; yields each when it is done.

    Both directions of one link, when the same happens to them, are one record.
    """
    for group in _grouped(actions):
        begin = clock()
        for action in group:
            carry_out(action, actuator)
        end, heals = clock(), group[0].heals
        trace.write(
            TraceRecord(
                time=end if heals else begin,
                node=trace.node,
                variant=trace.variant,
                event=Event.HEALED if heals else Event.FAULT,
                peer=_peer(group),
                text=group[0].kind.value,
                duration=end - begin,
            )
        )
        yield from group


def described(actions: Iterable[Action]) -> list[str]:
    """What was done, for people, as the log has it: `kill B7`, `link_down B1-B2`."""
    return [f"{group[0].kind} {_peer(group)}" for group in _grouped(actions)]


def carry_out(action: Action, actuator: Actuator) -> None:
    """Does one action."""
    if isinstance(action.target, LinkDirection):
        _to_link(action, action.target, actuator)
    else:
        _to_broker(action, action.target, actuator)


def _to_broker(action: Action, broker: BrokerId, actuator: Actuator) -> None:
    match action.kind, action.setting:
        case FaultKind.KILL, _:
            actuator.kill(broker)
        case FaultKind.STOP, _:
            actuator.stop(broker)
        case HealKind.RESTART, _:
            actuator.restart(broker)
        case FaultKind.PAUSE, _:
            actuator.pause(broker)
        case HealKind.RESUME, _:
            actuator.resume(broker)
        case FaultKind.THROTTLE, float(cores):
            actuator.throttle(broker, cores)
        case HealKind.UNTHROTTLE, _:
            actuator.throttle(broker, None)
        case FaultKind.SLOW, ServiceTime() as service_time:
            actuator.slow(broker, service_time)
        case HealKind.FULL_SPEED, _:
            actuator.slow(broker, None)
        case kind, given:
            raise ValueError(f"{kind} of a broker, with {given!r}")


def _to_link(action: Action, direction: LinkDirection, actuator: Actuator) -> None:
    match action.kind, action.setting:
        case FaultKind.LINK_DOWN, _:
            actuator.cut(direction)
        case HealKind.LINK_UP, _:
            actuator.restore(direction)
        case FaultKind.DEGRADE | HealKind.RECOVER, LinkProperties() as properties:
            actuator.change(direction, properties)
        case FaultKind.CORRUPT, float(share):
            actuator.corrupt(direction, share)
        case HealKind.CLEAN, _:
            actuator.corrupt(direction, 0.0)
        case kind, given:
            raise ValueError(f"{kind} of a link, with {given!r}")


def _grouped(actions: Iterable[Action]) -> Iterator[list[Action]]:
    """Actions in order; the two directions of a link together where one follows the other."""
    waiting: Action | None = None
    for action in actions:
        if waiting is not None:
            if action.kind is waiting.kind and _opposite(action, waiting):
                yield [waiting, action]
                waiting = None
                continue
            yield [waiting]
        waiting = action
    if waiting is not None:
        yield [waiting]


def _opposite(one: Action, other: Action) -> bool:
    return (
        isinstance(one.target, LinkDirection)
        and isinstance(other.target, LinkDirection)
        and one.target.reverse == other.target
    )


def _peer(group: list[Action]) -> str:
    """The broker, `A-B` for a link, `A->B` for one direction."""
    target = group[0].target
    return f"{target.source}-{target.target}" if isinstance(target, LinkDirection) and len(group) == 2 else str(target)
