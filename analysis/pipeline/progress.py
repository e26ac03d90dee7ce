"""Progress of the analysis in a few words, with the time that it still takes."""

from __future__ import annotations

import time
from collections.abc import Callable

from analysis.engines.frames import Done
from record.wording import count_of

SOON_SECONDS = 5.0
"""Before that, no remaining time is given: it would be a guess."""

Progress = Callable[[str], None]
"""Called with a description of the step in progress."""


def counted(step: str, progress: Progress, clock: Callable[[], float] = time.monotonic) -> Done:
    """Reports how far a stage is that begins now."""
    begin = clock()

    def done(finished: int, of: int) -> None:
        passed = clock() - begin
        left = (
            f", about {_duration(passed * (of - finished) / finished)} left"
            if passed > SOON_SECONDS and finished
            else ""
        )
        progress(f"{step} ({finished} of {count_of(of, 'part')}{left})")

    return done


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"
