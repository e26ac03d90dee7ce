"""The comparison of a run on real brokers with its simulated twin, which is a run directory inside of the run's own.

The twin comes first in it, so that differences are what real brokers added to the model, or took away.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from analysis.compare.model import RunComparison
from analysis.compare.run import compare_runs
from analysis.run_files.run_directory import read_manifest
from analysis.run_files.soundness import require_own_directory
from record.errors import RunDirectoryError
from record.files import FIDELITY, TWIN, TWIN_COMPARISON, read_file, write_json
from record.manifest import Manifest

_MAY_DIFFER = frozenset({"time_dilation"})
"""Fields of the scenario in which a twin differs, because virtual time needs no dilation."""


def twin_of(run: Path) -> Path | None:
    """The directory of a run's twin; None without one.

    Raises `RunDirectoryError` for a directory in its place that is no twin of this run.
    """
    twin = run / TWIN
    if not twin.exists():
        return None
    require_own_directory(twin)
    if not (twin / FIDELITY).exists():
        raise _no_twin(twin, "it was ended before it was complete")
    for difference in _differences(read_manifest(run), read_manifest(twin)):
        raise _no_twin(twin, difference)
    return twin


def compare_with_twin(run: Path) -> RunComparison | None:
    """Compares an analysed run with its analysed twin and replaces `twin.json`, which it removes where there is no
    twin. Raises `RunDirectoryError`."""
    file = run / TWIN_COMPARISON
    twin = twin_of(run)
    if twin is None:
        file.unlink(missing_ok=True)
        return None
    comparison = compare_runs(twin, run)
    write_json(file, comparison)
    return comparison


def read_twin_comparison(run: Path) -> RunComparison | None:
    """The comparison in `twin.json`; None without that file. Raises `RunDirectoryError` where it cannot be read."""
    file = run / TWIN_COMPARISON
    try:
        return msgspec.json.decode(read_file(file), type=RunComparison)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.DecodeError) as error:
        raise RunDirectoryError(f"{file}: cannot be read: {error}; `brokerlab analyze {run}` makes it anew") from error


def _differences(run: Manifest, twin: Manifest) -> Iterator[str]:
    """The reasons why one is not the other's twin."""
    if twin.calibration is msgspec.UNSET:
        yield f"its runtime is {twin.runtime.name}, and a twin is simulated"
    if run.seed != twin.seed:
        yield f"its seed is {twin.seed}, and the run's is {run.seed}"
    if fields := sorted(_unequal_fields(run.scenario, twin.scenario) - _MAY_DIFFER):
        yield f"its scenario has another {fields[0]}"
    if [variant.name for variant in run.variants] != [variant.name for variant in twin.variants]:
        yield "it has other variants"


def _unequal_fields(first: Mapping[str, Any], second: Mapping[str, Any]) -> set[str]:
    return {name for name in {*first, *second} if first.get(name) != second.get(name)}


def _no_twin(directory: Path, reason: str) -> RunDirectoryError:
    return RunDirectoryError(
        f"{directory}: no twin of the run that it is in: {reason}; remove it, `brokerlab emulate --twin` makes twins"
    )
