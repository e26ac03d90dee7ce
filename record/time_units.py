"""Units of the times in logs, which are whole nanoseconds."""

from __future__ import annotations

SECOND = 1_000_000_000
MILLISECOND = 1_000_000
