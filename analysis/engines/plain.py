"""The plain Python engine: one process, nothing to install and nothing to start."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

from analysis.engines.frames import Workers
from analysis.engines.in_process import InProcess


class PlainEngine:
    """Runs stages in this process. Buckets wait in a temporary file (about 50 bytes for each record of a publication),
    so that memory does not grow with them."""

    name = "plain Python"

    def open(self) -> AbstractContextManager[Workers]:
        return nullcontext(InProcess())
