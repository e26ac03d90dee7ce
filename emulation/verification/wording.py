"""Words for the change with which a stage begins."""

from __future__ import annotations

from dataclasses import dataclass

from emulation.verification.asked import BrokerState, ClientsState, DirectionState, Stage
from record.faults import FaultKind, HealKind


@dataclass(frozen=True, slots=True)
class StageChange:
    """The change with which a stage begins."""

    text: str
    """`kill of B7`, `link_up of B1->B2`."""
    kind: FaultKind | HealKind | None
    """Kind of the fault or the heal; None for a link that appears."""


def change_of(stage: Stage) -> StageChange:
    """The change with which a stage begins, by its most drastic difference to the stage before it."""
    match stage.before, stage.state:
        case BrokerState() as before, BrokerState() as state:
            kind = _of_broker(before, state)
        case DirectionState() as before, DirectionState() as state if before.absent != state.absent:
            return StageChange(f"{'departure' if state.absent else 'arrival'} over {stage.target}", None)
        case DirectionState() as before, DirectionState() as state:
            kind = _of_direction(before, state)
        case ClientsState() as before, ClientsState() as state:
            kind = state.away or _of_clients(before, state)
        case _:
            return StageChange(f"appearance of {stage.target}", None)
    return StageChange(f"{kind} of {stage.target}", kind)


def _of_broker(before: BrokerState, state: BrokerState) -> FaultKind | HealKind:
    if state.down is not None:
        return state.down
    if before.down is not None:
        return HealKind.RESTART
    if state.paused != before.paused:
        return FaultKind.PAUSE if state.paused else HealKind.RESUME
    return HealKind.UNTHROTTLE if state.cores is None else FaultKind.THROTTLE


def _of_clients(before: ClientsState, state: ClientsState) -> FaultKind | HealKind:
    if before.away is not None:
        return HealKind.RETURN
    if state.whereabouts is not None and state.whereabouts != before.whereabouts:
        whole = state.whereabouts.found is not None and state.whereabouts.left is not None
        return HealKind.ARRIVE if whole else FaultKind.MOVE
    return FaultKind.PAUSE if state.paused else HealKind.RESUME


def _of_direction(before: DirectionState, state: DirectionState) -> FaultKind | HealKind:
    if state.cut != before.cut:
        return FaultKind.LINK_DOWN if state.cut else HealKind.LINK_UP
    if state.corruption != before.corruption:
        return FaultKind.CORRUPT if state.corruption else HealKind.CLEAN
    return FaultKind.DEGRADE if state.degraded else HealKind.RECOVER
