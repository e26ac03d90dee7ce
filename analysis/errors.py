"""What went wrong, in the user's terms: one line that names the thing and the remedy, and the exit code."""

from __future__ import annotations

from typing import ClassVar


class AnalysisError(Exception):
    """Something the user can mend; the message is for the user, in whole. Anything else is a fault of brokerlab."""

    exit_code: ClassVar[int] = 2


class RunDirectoryError(AnalysisError):
    """A run directory that cannot be analysed: missing, incomplete or not one."""

    exit_code: ClassVar[int] = 2


class AnalysisHostError(AnalysisError):
    """This host cannot analyse: no Java, no such Spark master, no room on the disk."""

    exit_code: ClassVar[int] = 4
