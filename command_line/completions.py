"""Names that a shell completes: of shipped files, stored runs, protocols and claims, and of held runs with their
brokers and links. All others it takes for files."""
# ruff: noqa: PLC0415 - a completion loads no more than it needs

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from typer import Context

from record.installation import FILES

if TYPE_CHECKING:
    from emulation.held.requests import BrokerPlace, SitePlace, Status

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


def case_file_names(incomplete: str) -> list[str]:
    """Names of shipped files with conformance cases."""
    return _beginning(incomplete, _shipped("tests/conformance", ".json"))


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


def held_names(incomplete: str) -> list[str]:
    """Names of the held runs of this host."""
    from emulation.held.held_runs import held_runs

    return _beginning(incomplete, (run.run_id for run in held_runs()))


def broker_names(context: Context, incomplete: str) -> list[str]:
    """Names of the brokers of the held run that a command is for."""
    return _beginning(incomplete, (place.name for place in _places(context)))


def log_names(context: Context, incomplete: str) -> list[str]:
    """Names of the nodes of a held run that have logs."""
    from emulation.planning.plan import PUBLISHERS, SUBSCRIBERS
    from record.log import EMULATOR

    brokers = [place.name for place in _places(context)]
    return _beginning(incomplete, [*brokers, PUBLISHERS, SUBSCRIBERS, EMULATOR] if brokers else [])


def link_names(context: Context, incomplete: str) -> list[str]:
    """Names of the links of a held run, from either end."""
    places = _places(context)
    return _beginning(incomplete, (f"{place.name}-{end.neighbour}" for place in places for end in place.links))


def target_names(context: Context, incomplete: str) -> list[str]:
    """Names of the brokers and links of a held run."""
    return broker_names(context, incomplete) + link_names(context, incomplete)


def host_names(context: Context, incomplete: str) -> list[str]:
    """Names of the sites of a held run, and of the clients on them."""
    sites = _sites(context)
    return _beginning(incomplete, [*(site.name for site in sites), *(one for site in sites for one in site.clients)])


def goal_names(context: Context, incomplete: str) -> list[str]:
    """Names of the brokers and sites of a held run."""
    return broker_names(context, incomplete) + _beginning(incomplete, (site.name for site in _sites(context)))


def _places(context: Context) -> Sequence[BrokerPlace]:
    """The brokers of the held run that a command is for; none where there is no such run."""
    return () if (status := _status(context)) is None else status.brokers


def _sites(context: Context) -> Sequence[SitePlace]:
    return () if (status := _status(context)) is None else status.sites


def _status(context: Context) -> Status | None:
    """The state of the held run that a command is for; None where there is no such run."""
    from emulation.held.held_runs import held_run
    from record.errors import UserError

    try:
        return held_run(context.params.get("run")).status()
    except UserError:
        return None


def _shipped(folder: str, ending: str = ".yaml") -> Iterator[str]:
    directory = FILES / folder
    return (file.relative_to(directory).with_suffix("").as_posix() for file in sorted(directory.rglob(f"*{ending}")))


def _beginning(incomplete: str, names: Iterable[str]) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]
