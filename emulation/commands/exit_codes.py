"""How a command ends."""

from __future__ import annotations

import enum


class ExitCode(enum.IntEnum):
    CORRECT = 0
    """Delivered correctly, and the emulation kept its promises well enough."""
    VIOLATED = 1
    """Some publication was lost, duplicated, reordered, or delivered to somebody who should not get it."""
    BAD_INPUT = 2
    INVALID = 3
    """The emulation broke its promises, so the measurements describe this host."""
    HOST = 4
    """This host cannot run it."""
    INTERRUPTED = 130
    """The user ended it, and nothing was found wrong until then."""
