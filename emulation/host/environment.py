"""The environment of processes that read what comes over the network: brokers and drivers.

They get what Python and brokerlab use, and nothing else of the environment of the user who started the run, where
tokens and passwords may stand.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from emulation.host.processes import RUN_VARIABLE

_SOURCE_ROOT = Path(__file__).resolve().parents[2]
_NEEDED = frozenset({"PATH", "LANG", "LANGUAGE", "LD_LIBRARY_PATH", "TZ", "VIRTUAL_ENV"})
_NEEDED_BEGINNINGS = ("LC_", "PYTHON", "BROKERLAB_", "OPENBLAS_", "OMP_", "MALLOC_", "COVERAGE_", "COV_CORE_")


def environment_of_node(run_id: str, given: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of a run's broker or driver, from `given`, which is that of this process by default."""
    found = os.environ if given is None else given
    kept = {name: value for name, value in found.items() if name in _NEEDED or name.startswith(_NEEDED_BEGINNINGS)}
    return kept | {RUN_VARIABLE: run_id, "PYTHONPATH": str(_SOURCE_ROOT)}
