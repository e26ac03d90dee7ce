"""All rows, area by area."""

from __future__ import annotations

from collections.abc import Sequence

from tests.gauntlet.model import Row
from tests.gauntlet.rows import (
    budget,
    detection,
    dilation,
    faulty,
    limits,
    links,
    logs,
    matching,
    moves,
    network,
    routers,
    sessions,
    simulator,
)

_DEFECTS = (
    routers.AREA,
    faulty.AREA,
    matching.AREA,
    detection.AREA,
    links.AREA,
    sessions.SESSIONS,
    sessions.CLIENT_LIBRARY,
    moves.MOVES,
    limits.AREA,
)
_INFIDELITIES = (
    network.LINKS,
    network.FAULTS,
    moves.MOVES_MADE,
    logs.LOGS,
    logs.CLOCKS,
    simulator.WORKLOAD,
    simulator.SIMULATOR,
    budget.BUDGET,
    dilation.DILATION,
)

DEFECTS: Sequence[Row] = [row for area in _DEFECTS for row in area]
INFIDELITIES: Sequence[Row] = [row for area in _INFIDELITIES for row in area]
HONEST: Sequence[Row] = [*budget.HONEST]
"""Changes that are no infidelity, so that nobody may be blamed."""
