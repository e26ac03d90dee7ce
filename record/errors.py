"""Errors that the user can correct. Each message is one line that names what is wrong and the remedy.

Code that finds a user's mistake raises one of these; only the command line catches them, prints the message and exits
with the error's exit code. Any other exception that escapes is a defect of brokerlab and keeps its stack trace.
"""

from __future__ import annotations

import errno
from pathlib import Path

from record.exit_codes import ExitCode

DISK_IS_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
"""Values of `OSError.errno` that report a full disk or an exhausted quota."""


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


def unusable_directory(directory: Path, error: OSError) -> UserError:
    """The error for a directory of the option `--out` in which nothing can be made.

    Another directory mends it, so it is a wrong use of the option; only a full disk is a lack of this host.
    """
    if error.errno in DISK_IS_FULL:
        return HostError(f"no space left on the disk of {directory}; make room, or use --out")
    return BadInputError(f"--out {directory}: {error.strerror}; choose a directory that can be written")
