"""The order of the house: which package, and which room of a package, may import which.

Floors are listed from the ground up. A room may import rooms on lower floors, never one on its own floor or above. A
room is a module or a folder directly in its package. Whoever adds a room gives it a floor here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tests.architecture.imports import Import

Floors = Sequence[frozenset[str]]


def _floors(*floors: str) -> Floors:
    return tuple(frozenset(floor.split()) for floor in floors)


PACKAGES: Floors = _floors(
    "record",
    "broker_service topology",
    "emulation analysis",
    "studies",
    "command_line",
)

ROOMS: Mapping[str, Floors] = {
    "record": _floors(
        "errors exit_codes log manifest",
        "fidelity",
    ),
    "broker_service": _floors(
        "language messages service_time",
        "config matching sessions trace wire",
        "links",
        "routing",
        "broker",
        "grpc_shell",
        "client_library",
    ),
    "topology": _floors(
        "forces model",
        "layers links paths scot shapes",
        "files layout mesh metrics recognition",
        "drawing inspection mesh_files mesh_overlays planetlab transit_stub",
    ),
    "emulation": _floors(
        "ansible faults host output",
        "network scenario",
        "runtimes workload",
        "drivers fidelity planning upkeep",
        "run",
        "multi_host simulation",
    ),
    "analysis": _floors(
        "errors",
        "engines run_files",
        "tables",
        "compare reading",
        "judging",
        "claims pipeline report",
        "summarise",
        "run",
        "live",
        "documentation",
    ),
    "studies": _floors(
        "calibration junit reproduction",
        "conformance verdict_cases",
        "campaign",
    ),
    "command_line": _floors(
        "commands exits help",
        "options",
        "program",
        "start",
        "__main__",
    ),
}

LARGEST_SHARE = 0.40
"""The share of the product's lines that a single package may hold."""


def floor_of(room: str, floors: Floors) -> int:
    """The number of a room's floor, 0 being the ground. Raises `KeyError` for a room without one."""
    for number, floor in enumerate(floors):
        if room in floor:
            return number
    raise KeyError(room)


def arrows_up(imports: Iterable[Import]) -> list[Import]:
    """The imports that do not point to a lower floor, in the order given. Raises `KeyError` for an unknown room."""
    return [arrow for arrow in imports if not _points_down(arrow)]


def _points_down(arrow: Import) -> bool:
    package, _, inside = arrow.importer.partition(".")
    other_package, _, other_inside = arrow.imported.partition(".")
    if package != other_package:
        return floor_of(package, PACKAGES) > floor_of(other_package, PACKAGES)
    room, other = inside.partition(".")[0], other_inside.partition(".")[0]
    if room == other or not room or not other:  # a package's `__init__` re-exports what its rooms define
        return True
    return floor_of(room, ROOMS[package]) > floor_of(other, ROOMS[package])
