"""A broker process whose first thread ends a little before the last one, which sets the exit code."""

from __future__ import annotations

import ctypes
import os
import platform
import threading
import time

from record.exit_codes import ExitCode

_EXIT_OF_ONE_THREAD = {"x86_64": 60, "aarch64": 93}
"""Number of the system call exit(2) by machine."""
_LATER = 0.3
"""Seconds."""


def _end() -> None:
    time.sleep(_LATER)
    os._exit(ExitCode.BROKER_DEFECT)


if __name__ == "__main__":
    threading.Thread(target=_end).start()
    ctypes.CDLL(None).syscall(_EXIT_OF_ONE_THREAD[platform.machine()], 0)
