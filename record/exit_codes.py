"""Exit codes of every command and helper process."""

from __future__ import annotations

import enum
from typing import Self


class ExitCode(enum.IntEnum):
    """Exit code of a command, for scripts.

    A violated delivery takes precedence over every other outcome: it is a finding, however the rest of the run went.
    """

    meaning: str

    CORRECT = 0, "delivered correctly, and the emulation held (VALID or DEGRADED); or: done"
    VIOLATED = (
        1,
        "a delivery was violated (lost, duplicated, reordered, without a right), a limit of `expect` was missed, or "
        "too little was judged though the emulation held",
    )
    BAD_INPUT = 2, "bad input; the message names the file or option, the field and the remedy"
    INVALID = (
        3,
        "the emulation did not keep its promises, so that the measurements, or a figure that `expect` limits, describe "
        "this host; or nothing is known",
    )
    HOST = 4, "this host cannot do it; the message names what is missing"
    BROKER_DEFECT = 5, "a broker failed by a defect of its own code, nearly always of the routing protocol's"
    DEFECT = 70, "a defect of brokerlab itself, with a stack trace: please report it"
    INTERRUPTED = 130, "ended by the user (Ctrl-C, SIGTERM, a closed terminal), and nothing was found wrong until then"
    BROKEN_PIPE = 141, "ended because the reader of its output had closed it"

    def __new__(cls, value: int, meaning: str) -> Self:
        member = int.__new__(cls, value)
        member._value_ = value
        member.meaning = meaning
        return member
