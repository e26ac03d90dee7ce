"""Order of the house: which package, and which room of a package, may import which.

1. A *room* is a module or a folder directly in its package. A folder with a row of its own in `ROOMS` has rooms again.
2. Floors are listed from the ground up. A room may import rooms on lower floors, and none on its own floor or above.
3. A package's `__init__` re-exports names of its rooms, so it stands above them: no room imports it, except `__main__`.

Every new room gets a floor here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tests.architecture.imports import ROOT, Import

Floors = Sequence[frozenset[str]]


def _floors(*floors: str) -> Floors:
    return tuple(frozenset(floor.split()) for floor in floors)


def protocol_packages() -> list[str]:
    """Packages of `broker_service.routing` that declare a protocol. They need no row here, and import none another."""
    return sorted(found.parent.name for found in (ROOT / "broker_service" / "routing").glob("*/protocol.py"))


PACKAGES: Floors = _floors(
    "record",
    "broker_service topology",
    "scenario",
    "analysis emulation",
    "brokerlab",
    "studies",
    "command_line",
)

ROOMS: Mapping[str, Floors] = {
    "record": _floors(
        "callbacks contract exit_codes faults file_lock files handover host_speed "
        "installation limits load log processors sample time_units unread wording",
        "digests errors fidelity program promises scratch service_time",
        "extras figures forked_processes slower_run",
        "forked_calls manifest",
    ),
    "broker_service": _floors(
        "language messages service",
        "config detection matching",
        "tracing",
        "links",
        "routing transport",
        "core",
        "client_library grpc_shell",
        "__main__",
    ),
    "brokerlab": _floors("library protocol"),
    "topology": _floors(
        "link_properties",
        "model",
        "bounded_files links paths shapes sites structures",
        "metrics underlays",
        "drawings full_mesh inspection",
        "files",
        "evolutions",
        "mobility",
    ),
    "scenario": _floors(
        "faults yaml_files",
        "sections",
        "field_meanings model",
        "workload",
        "foreign_brokers",
        "checks",
        "json_schema loading reference shipped",
    ),
    "emulation": _floors(
        "adapters host live_overlay",
        "ansible faults motion network",
        "runtimes verification",
        "drivers fidelity held planning processors upkeep",
        "run",
        "multi_host simulation",
        "prediction",
    ),
    "analysis": _floors(
        "engines run_files script_data",
        "tables",
        "compare reading",
        "judging",
        "auditing",
        "budget",
        "claims live pipeline query",
        "trace",
        "report",
    ),
    "studies": _floors(
        "calibration junit named_protocol rehearsal smallest_part",
        "cells markdown_summary",
        "dilations reproduction verdict_files",
        "baselines conformance fitting saturation verdict_cases",
        "broker_kit campaign exploration protocol_kit",
        "on_host",
    ),
    "command_line": _floors(
        "completions",
        "commands exits help usage",
        "options",
        "program",
        "start",
        "__main__",
    ),
    "analysis.judging": _floors(
        "doubt limits trace",
        "judged language",
        "histories journeys",
        "evidence",
        "rights variant_context",
        "deliveries fault_effects oracle",
        "delay_stage examples",
        "detections",
        "publication_tally",
        "publication_figures",
        "publication_stage publisher_stage",
    ),
    "analysis.report": _floors(
        "contents embedding percentiles",
        "figures notable offline_page",
        "data",
        "courses overlay_drawing sentences",
        "first_screen replayed side_by_side",
        "runs_shown",
        "page",
        "building",
    ),
    "broker_service.routing": _floors(
        "failures options",
        "interface",
        "common declaration",
        " ".join([*protocol_packages(), "foreign program systems"]),
        "outside",
        "requirements",
        "registry",
    ),
    "broker_service.routing.gryphon": _floors(
        "overlay virtual_time",
        "options subscriptions timer_keys",
        "detours propagation streams",
        "clients",
        "relaying",
        "router",
        "protocol",
    ),
    "studies.campaign": _floors(
        "model result simpler_moves",
        "cell matrix",
        "cells shrink",
        "directory junit sentences",
        "report",
        "live",
    ),
    "studies.exploration": _floors(
        "draws records smaller_sites surroundings",
        "link_faults operations overlays settings",
        "judged_run moments sites",
        "site_faults",
        "schedules",
        "coverage drawing site_steps",
        "cases findings mutation shrinking",
        "workers",
        "confirmation directory exploration real_runs",
        "junit saved sentences",
        "report",
    ),
    "studies.broker_kit": _floors(
        "configuration content failures",
        "control programs raw_stream relay",
        "actor canaries case_session containers raw_link",
        "overlay",
        "bench",
        "rows",
        "display report",
        "case_rows content_rows log_rows number_rows publication_rows request_rows start_rows status_rows stream_rows "
        "wire_rows",
        "trial",
    ),
    "studies.conformance": _floors(
        "content losses operands protocols",
        "model",
        "roaming terms",
        "case_runner checks meshes result selection writing",
        "clients display host reading relations simulated",
        "junit running",
        "repeats",
    ),
}

LARGEST_SHARE = 0.40
"""Share of the product's lines that a single package may hold."""


def packages() -> list[str]:
    """Top-level packages of the product, from the ground up, those of one floor in alphabetical order."""
    return [package for floor in PACKAGES for package in sorted(floor)]


def floors_in(package: str) -> Floors | None:
    """Floors of a package's rooms; those of the packages themselves for `""`, none for a folder without a row."""
    return ROOMS.get(package) if package else PACKAGES


def floor_of(room: str, floors: Floors) -> int:
    """Number of a room's floor, 0 being the ground. Raises `KeyError` for a room without a floor."""
    for number, floor in enumerate(floors):
        if room in floor:
            return number
    raise KeyError(room)


def arrows_up(imports: Iterable[Import]) -> list[Import]:
    """Imports that do not point to a lower floor, in the order given. Raises `KeyError` for a room without a floor."""
    return [arrow for arrow in imports if not _points_down(arrow)]


def _points_down(arrow: Import) -> bool:
    importer, imported = arrow.importer.split("."), arrow.imported.split(".")
    shared = _shared_prefix(importer, imported)
    above, below = importer[shared:], imported[shared:]
    if not above:  # a package's `__init__` imports one of its rooms
        return True
    if not below:  # a room imports the `__init__` of its own package
        return above == ["__main__"]
    floors = floors_in(".".join(importer[:shared]))
    return floors is None or floor_of(above[0], floors) > floor_of(below[0], floors)


def _shared_prefix(first: Sequence[str], second: Sequence[str]) -> int:
    """Number of components that two dotted names share from their beginning."""
    pairs = enumerate(zip(first, second, strict=False))
    return next((number for number, (left, right) in pairs if left != right), min(len(first), len(second)))
