"""Names that a shell completes: of shipped files, stored runs, protocols and claims. All others it takes for files."""
# ruff: noqa: PLC0415 - a completion loads no more than it needs

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from record.installation import FILES

VARIABLE = "_BROKERLAB_COMPLETE"
"""The environment variable in which a shell's script asks for completions."""


def answer_shells() -> None:
    """Lets the program answer a shell that asks for completions; nothing in any other start."""
    if VARIABLE in os.environ:
        from typer.completion import completion_init  # type: ignore[attr-defined]  # Typer names no public one

        completion_init()


def scenario_names(incomplete: str) -> list[str]:
    """Names of shipped scenarios."""
    return _beginning(incomplete, _shipped("scenarios"))


def campaign_names(incomplete: str) -> list[str]:
    """Names of shipped campaigns."""
    return _beginning(incomplete, _shipped("campaigns"))


def run_names(incomplete: str) -> list[str]:
    """Names of the runs in the directory `runs`, the newest first, and `latest`."""
    from analysis.run_files.stored import LATEST, stored_runs

    return _beginning(incomplete, [LATEST, *(run.name for run in reversed(stored_runs()))])


def protocol_names(incomplete: str) -> list[str]:
    """Names of built-in routing protocols."""
    from broker_service.routing import PROTOCOLS

    return _beginning(incomplete, PROTOCOLS)


def claim_names(incomplete: str) -> list[str]:
    """Names of the papers' claims."""
    from analysis.claims import load_claims

    return _beginning(incomplete, (claim.id for claim in load_claims().claims))


def _shipped(folder: str) -> Iterator[str]:
    directory = FILES / folder
    return (file.relative_to(directory).with_suffix("").as_posix() for file in sorted(directory.rglob("*.yaml")))


def _beginning(incomplete: str, names: Iterable[str]) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]
