"""The start of the program: Ctrl-C ends it without a stack trace while its modules are still being loaded."""

from __future__ import annotations

import sys

_INTERRUPTED = 130


def main() -> None:
    """Runs the command line, and ends the process."""
    try:
        from command_line.program import run  # noqa: PLC0415 - see the module
        from record.scratch import scratch_directory  # noqa: PLC0415 - see the module
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)
    with scratch_directory():
        sys.exit(run())
