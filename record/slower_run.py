"""An estimate of the time dilation under which a host would keep up, from the share that a run took of its processors.

A slower run spreads its work over more time, so a run that takes the share u of the host's processors under dilation d
takes u * d / d' of them under d'. Processors that were busy all the time may have had any amount of further work, so
the estimate is then a lower bound, and is called so. Where a run waited although it had little to do, the wait is
assumed to last as long as before, which under d' counts d' / d times less. Other programs are not slowed down by
dilation and are left out.

Before a run, `emulation.prediction` estimates the same from turns in virtual time. Its estimate rests on a model of the
host and this one on the run, so that neither can stand in for the other; both aim at `AIM`.
"""

from __future__ import annotations

import math

from record.fidelity import ProcessorUse

AIM = 0.6
"""Share of the processors that a run should take, because load has bursts."""
SATURATED = 0.95
"""Processors that were busy for a larger share of the time may have had any amount of work left."""
OTHERS = 0.2
"""Other programs are mentioned when they took a larger share of the processors."""


def others_took_much(use: ProcessorUse | None) -> bool:
    """True where other programs took so much of the processors that the run may have had to wait."""
    return use is not None and use.others > OTHERS


def others_are_in_the_way(use: ProcessorUse | None) -> bool:
    """True where nothing but other programs can have made the run wait, because it took little itself."""
    return use is not None and use.share <= AIM and others_took_much(use)


def estimated_dilation(use: ProcessorUse | None, wait: float, dilation: float) -> int:
    """The dilation under which the host would keep up.

    `wait` is the factor by which waits were too long; it counts where the processors had time.
    """
    share = 0.0 if use is None else use.share
    return max(math.ceil(dilation * (share / AIM if share > AIM else wait)), math.floor(dilation) + 1)
