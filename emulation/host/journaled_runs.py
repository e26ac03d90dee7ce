"""Runs that `clean` finds, and all their processes, as long as they last: registered, and with a journal."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager

from emulation.host.journal import Journal
from emulation.host.processes import RUN_VARIABLE
from emulation.host.registry import register, unregister
from emulation.host.run_paths import RunPaths


@contextmanager
def journaled(paths: RunPaths) -> Iterator[Journal]:
    """The journal of a run. Raises `HostError` where the run cannot be registered."""
    register(paths.run_id, paths.journal)
    try:
        with closing(Journal(paths.journal)) as journal:
            os.environ[RUN_VARIABLE] = paths.run_id  # because children that libraries start inherit it
            try:
                yield journal
            finally:
                os.environ.pop(RUN_VARIABLE)
    finally:
        unregister(paths.run_id)
