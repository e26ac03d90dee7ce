"""Errors that end a command: those that the user can correct, and defects of brokers.

The message of a `UserError` is one line that names what is wrong and the remedy. Code that finds a user's mistake
raises one of these; only the command line catches them, prints the message and exits with the error's exit code. A
`BrokerDefectError` keeps the stack trace of the router that failed. Any other exception that escapes is a defect of
brokerlab and keeps its own.
"""

from __future__ import annotations

import errno
import traceback
from pathlib import Path

from record.exit_codes import ExitCode

DISK_IS_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
"""Values of `OSError.errno` that report a full disk or an exhausted quota."""
_FRAMES = -12
"""Frames of a defect's stack trace, counted from the innermost."""


class UserError(Exception):
    """An error that the user can correct. The message is complete and is shown as it is."""

    exit_code: int = ExitCode.BAD_INPUT


class BadInputError(UserError):
    """A scenario, an option or a file that cannot be used as it is."""


class RunDirectoryError(BadInputError):
    """A run directory that cannot be analysed: missing, incomplete, or not a run directory."""


class HostError(UserError):
    """A resource that this host lacks: a privilege, a daemon, an image, a module, Java, room on the disk."""

    exit_code: int = ExitCode.HOST


class ProtocolCodeError(UserError):
    """A defect of a routing protocol's code for which a command ends: in its options or its preparation, before any
    broker runs, or in a broker of a search, of which nothing can be said then."""

    exit_code: int = ExitCode.BROKER_DEFECT


def unusable_directory(directory: Path, error: OSError) -> UserError:
    """The error for a directory of the option `--out` in which nothing can be made.

    Another directory mends it, so it is a wrong use of the option; only a full disk is a lack of this host.
    """
    if error.errno in DISK_IS_FULL:
        return HostError(f"no space left on the disk of {directory}; make room, or use --out")
    return BadInputError(f"--out {directory}: {error.strerror}; choose a directory that can be written")


class BrokerDefectError(Exception):
    """A defect of a broker's own code, nearly always of its router, for which the broker ended.

    The text is a sentence that names the broker, the protocol, and what was handled. The cause (`__cause__`) is the
    original error, where the broker ran in this process.
    """

    def __init__(self, broker: str, text: str, printed_trace: str = "", *, place: str = "") -> None:
        """`printed_trace` is the stack trace that a broker in another process has printed; `place` is the line at fault
        in the author's code, which the text names too."""
        super().__init__(text)
        self.broker = broker
        self._printed_trace = printed_trace
        self._place = place

    @property
    def shown_trace(self) -> str:
        """Stack trace for people; empty where the text names the line, which tells them more."""
        return "" if self._place else self.stack_trace

    @property
    def stack_trace(self) -> str:
        """Stack trace of the original error, a line each; empty without one. Only the innermost frames are in it, which
        are the router's."""
        if self.__cause__ is None:
            return self._printed_trace
        return "".join(traceback.format_exception(self.__cause__, limit=_FRAMES))
