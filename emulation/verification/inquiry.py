"""An inquiry: what is known so far of one stage of a planned fault."""

from __future__ import annotations

from dataclasses import dataclass

from emulation.verification.asked import BrokerState, ClientsState, DirectionState, Stage
from emulation.verification.seen import FaultObserver
from emulation.verification.wording import StageChange
from record.faults import FaultKind, HealKind

Asked = BrokerState | DirectionState | ClientsState


@dataclass(slots=True, eq=False)
class Inquiry:
    """Knowledge of one stage so far. Times are nanoseconds of the run's clock."""

    stage: Stage
    asked: Asked
    change: StageChange
    due: int
    """Time of the next look."""
    counts_from: int
    """Time from which on a look counts that finds something else than asked."""
    agreed_at: int | None = None
    wrong: str = ""
    missing: tuple[int, str] | None = None
    """Begin and finding of the last look that found something else."""
    unverified: str = ""
    over: bool = False


def takes(observer: FaultObserver, kind: FaultKind | HealKind | None) -> float:
    """Seconds that a change of this kind may take."""
    match kind:
        case FaultKind.STOP:
            return observer.stop_takes
        case HealKind.RESTART:
            return observer.start_takes
        case HealKind.RETURN | FaultKind.MOVE | HealKind.ARRIVE:
            return observer.patience + observer.return_takes
    return observer.patience
