"""Units of the times in logs, which are whole nanoseconds."""

from __future__ import annotations

from typing import Final

SECOND: Final = 1_000_000_000
MILLISECOND: Final = 1_000_000
