"""All rows, area by area."""

from __future__ import annotations

from collections.abc import Sequence

from tests.gauntlet.model import Row
from tests.gauntlet.rows import routers

DEFECTS: Sequence[Row] = [row for area in (routers.AREA,) for row in area]
INFIDELITIES: Sequence[Row] = []
