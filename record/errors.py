"""What went wrong, in the user's terms: each error is one line that names the thing and the remedy.

Whoever finds a user's mistake raises one of these; only the command line catches them, prints the line and leaves with
the error's exit code. Anything else that escapes is a fault of brokerlab's own and keeps its stack trace.
"""

from __future__ import annotations

import errno

DISK_IS_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
"""Numbers of the errors that tell of a disk, or a quota, without room."""


class UserError(Exception):
    """Something the user can mend. The message is for the user, in whole."""

    exit_code: int = 2


class BadInputError(UserError):
    """A scenario, an option or a run directory that cannot be used as it is."""


class HostError(UserError):
    """This host lacks what was asked for: a privilege, a daemon, an image, a module, room on the disk."""

    exit_code = 4
