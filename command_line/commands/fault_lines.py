"""What faults did, for the terminal: one line a kind."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from analysis.tables.definitions import Fault


def fault_lines(faults: Iterable[Fault]) -> list[str]:
    """By kind, in the order in which the kinds came; nothing where nothing was injected."""
    by_kind: dict[str, list[Fault]] = {}
    for fault in faults:
        by_kind.setdefault(fault.kind, []).append(fault)
    return [_line(kind, of_kind) for kind, of_kind in by_kind.items()]


def _line(kind: str, faults: Sequence[Fault]) -> str:
    times = f" ({len(faults)} times)" if len(faults) > 1 else ""
    lost = sum(fault.lost for fault in faults)
    counted = (
        f"{sum(fault.late or 0 for fault in faults):,} late, {sum(fault.excused for fault in faults):,} excused, "
        f"{sum(fault.dropped for fault in faults):,} dropped" + (f", {lost:,} lost" if lost else "")
    )
    return f"{kind}{times}: {_detected(faults)}, {_recovered(faults)}; {counted}"


def _detected(faults: Sequence[Fault]) -> str:
    first = [fault.detected_first_s for fault in faults if fault.detected_first_s is not None]
    last = [fault.detected_last_s for fault in faults if fault.detected_last_s is not None]
    if not first or not last:
        return "no neighbour noticed"
    low, high = f"{min(first):.2f}", f"{max(last):.2f}"
    return f"detected within {high} s" if low == high else f"detected after {low} to {high} s"


def _recovered(faults: Sequence[Fault]) -> str:
    unhealed = sum(fault.healed_ns is None for fault in faults)
    recovered = [fault.recovered_s for fault in faults if fault.recovered_s is not None]
    if unhealed:
        return "never healed" if unhealed == len(faults) else f"{unhealed} never healed"
    if not recovered:
        return "no delivery before to compare with"
    return f"recovered {max(recovered):.2f} s after the heal"
