"""Execution of actions on a live overlay, and the log of faults.

A record is written when its action is done, with the action's duration. A `fault` carries the time at which the action
began and a `healed` the time at which it was done, so that everything a fault can have spoilt lies between the two.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from broker_service.config import Disturbance
from broker_service.tracing.trace import Trace
from emulation.faults.injector import Action
from emulation.live_overlay.contract import LiveBrokers, LiveOverlay, LiveSites, NoSites
from record.faults import FaultKind, HealKind
from record.log import Event, TraceRecord
from record.service_time import ServiceTime
from topology.link_properties import BrokerId, LinkDirection, LinkProperties
from topology.sites import ClientHost, Move

NO_SITES = NoSites()


def perform(
    actions: Iterable[Action], overlay: LiveOverlay, trace: Trace, clock: Callable[[], int], sites: LiveSites = NO_SITES
) -> Iterator[Action]:
    """Does one action after another and writes it down; yields each when it is done.

    Both directions of one link, when the same happens to them, are one record. An action that is missed is written down
    as one without effect.
    """
    for group in _grouped(actions):
        begin, event, move = clock(), _event_of(group[0]), _move_of(group[0])
        if event is not Event.WITHOUT_EFFECT:
            for action in group:
                carry_out(action, overlay, sites)
        end = clock()
        trace.write(
            TraceRecord(
                time=end if event is Event.HEALED else begin,
                node=trace.node,
                variant=trace.variant,
                event=event,
                peer=_peer(group),
                text=group[0].kind.value,
                duration=end - begin,
                to=None if move is None else move.to,
                kind=None if move is None else move.handover.value,
            )
        )
        yield from group


def described(actions: Iterable[Action]) -> list[str]:
    """Actions in words, as in the log: `kill B7`, `link_down B1-B2`, `move berlin to B7`."""
    return [f"{group[0].kind} {_peer(group)}{_goal(group[0])}{_missed(group[0])}" for group in _grouped(actions)]


def _move_of(action: Action) -> Move | None:
    return action.setting if isinstance(action.setting, Move) else None


def _goal(action: Action) -> str:
    move = _move_of(action)
    return "" if move is None else f" to {move.to}"


def _missed(action: Action) -> str:
    if not action.missed:
        return ""
    return " (which changes nothing)" if isinstance(action.setting, Move) else " (which is not there)"


def carry_out(action: Action, overlay: LiveOverlay, sites: LiveSites = NO_SITES) -> None:
    """Does one action."""
    if isinstance(action.target, ClientHost):
        _to_clients(action, action.target, sites)
    elif isinstance(action.target, LinkDirection):
        _to_link(action, action.target, overlay)
    else:
        _to_broker(action, action.target, overlay.brokers)


def _to_broker(action: Action, broker: BrokerId, brokers: LiveBrokers) -> None:
    """A fault of a broker that is down, as one whose restart failed, does nothing: the check of planned faults names
    the broker."""
    if isinstance(action.kind, FaultKind) and not brokers.runs(broker):
        return
    match action.kind, action.setting:
        case FaultKind.KILL, _:
            brokers.kill(broker)
        case FaultKind.STOP, _:
            brokers.stop(broker)
        case HealKind.RESTART, _:
            brokers.restart(broker)
        case FaultKind.PAUSE, _:
            brokers.pause(broker)
        case HealKind.RESUME, _:
            brokers.resume(broker)
        case FaultKind.THROTTLE, float(cores):
            brokers.throttle(broker, cores)
        case HealKind.UNTHROTTLE, _:
            brokers.throttle(broker, None)
        case FaultKind.SLOW, ServiceTime() as service_time:
            brokers.slow(broker, service_time)
        case HealKind.FULL_SPEED, _:
            brokers.slow(broker, None)
        case kind, given:
            raise ValueError(f"{kind} of a broker, with {given!r}")


def _to_clients(action: Action, host: ClientHost, sites: LiveSites) -> None:
    match action.kind:
        case FaultKind.MOVE | HealKind.ARRIVE if isinstance(action.setting, Move):
            if action.setting.handover.is_soft is action.heals:
                sites.depart(action.setting)
            else:
                sites.arrive(action.setting)
        case FaultKind.PAUSE:
            sites.pause(host)
        case HealKind.RESUME:
            sites.resume(host)
        case FaultKind():
            sites.end(host)
        case HealKind():
            sites.come_back(host)


def _to_link(action: Action, direction: LinkDirection, overlay: LiveOverlay) -> None:
    match action.kind, action.setting:
        case FaultKind.LINK_DOWN, _:
            overlay.links.cut(direction)
        case HealKind.LINK_UP, _:
            overlay.links.restore(direction)
        case FaultKind.DEGRADE | HealKind.RECOVER, LinkProperties() as properties:
            overlay.links.change(direction, properties)
        case FaultKind.CORRUPT, float(share):
            overlay.links.corrupt(direction, share)
        case HealKind.CLEAN, _:
            overlay.links.corrupt(direction, 0.0)
        case FaultKind.RESET, _:
            overlay.brokers.reset(direction)
        case HealKind.RECONNECT, _:
            pass  # brokers open another stream by themselves
        case FaultKind.DISTURB, Disturbance() as disturbance:
            overlay.brokers.disturb(direction, disturbance)
        case HealKind.UNDISTURB, _:
            overlay.brokers.disturb(direction, Disturbance())
        case kind, given:
            raise ValueError(f"{kind} of a link, with {given!r}")


def _event_of(action: Action) -> Event:
    if action.missed:
        return Event.WITHOUT_EFFECT
    return Event.HEALED if action.heals else Event.FAULT


def _grouped(actions: Iterable[Action]) -> Iterator[list[Action]]:
    """Actions in order; the two directions of a link together where one follows the other."""
    waiting: Action | None = None
    for action in actions:
        if waiting is not None:
            if (action.kind, action.missed) == (waiting.kind, waiting.missed) and _opposite(action, waiting):
                yield [waiting, action]
                waiting = None
                continue
            yield [waiting]
        waiting = action
    if waiting is not None:
        yield [waiting]


def _opposite(left: Action, right: Action) -> bool:
    return (
        isinstance(left.target, LinkDirection)
        and isinstance(right.target, LinkDirection)
        and left.target.reverse == right.target
    )


def _peer(group: list[Action]) -> str:
    """The broker, `A-B` for a link, `A->B` for one direction."""
    target = group[0].target
    return f"{target.source}-{target.target}" if isinstance(target, LinkDirection) and len(group) == 2 else str(target)
