"""Imports between packages and rooms point down, without circles, and no package outgrows the others."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from itertools import combinations

import networkx as nx
import pytest

from tests.architecture.imports import Import, imports, modules
from tests.architecture.order import LARGEST_SHARE, ROOMS, arrows_up, floor_of, floors_in, packages

SOURCES = modules(packages())


@functools.cache
def own_imports() -> list[Import]:
    """Read once, and not before a test needs them: every worker imports this module, and one runs its tests."""
    return imports(SOURCES)


def _rooms(package: str) -> set[str]:
    depth = package.count(".") + 1
    return {name.split(".")[depth] for name in SOURCES if name.startswith(f"{package}.")}


def test_every_top_level_package_has_rooms_in_the_table() -> None:
    assert {package for package in ROOMS if "." not in package} == set(packages())


@pytest.mark.parametrize("package", ROOMS)
def test_the_table_lists_each_room_of_a_package_once(package: str) -> None:
    listed = [room for floor in ROOMS[package] for room in floor]
    assert sorted(listed) == sorted(_rooms(package)), f"give each room of {package} one floor in order.py"


def test_no_import_points_up() -> None:
    assert [str(arrow) for arrow in arrows_up(own_imports())] == []


def _pairs_of_rooms() -> Iterator[tuple[str, str, bool]]:
    """Two rooms of the table, and whether they share a floor; the first is on the lower floor if they do not."""
    for package in ("", *ROOMS):
        floors = floors_in(package) or ()
        rooms = [f"{package}.{room}".lstrip(".") for floor in floors for room in sorted(floor)]
        for low, high in combinations(rooms, 2):
            yield low, high, floor_of(low.rpartition(".")[2], floors) == floor_of(high.rpartition(".")[2], floors)


def test_every_arrow_up_would_be_found_and_no_arrow_down() -> None:
    for low, high, same_floor in _pairs_of_rooms():
        up, down = Import(f"{low}.inside", f"{high}.deep.inside"), Import(f"{high}.inside", f"{low}.deep.inside")
        assert arrows_up([up]) == [up], f"{up} is not found"
        assert arrows_up([down]) == ([down] if same_floor else []), down


@pytest.mark.parametrize(
    "arrow",
    [
        Import("record.log", "broker_service.messages"),
        Import("topology.model", "broker_service.messages"),
        Import("broker_service.links.flow", "broker_service.routing.interface"),
        Import("broker_service.routing.tid.router", "broker_service.routing.octopia.router"),
        Import("broker_service.routing.tid.router", "broker_service.routing.registry"),
        Import("broker_service.routing.tid.router", "broker_service.routing"),
        Import("topology.model", "topology"),
    ],
    ids=str,
)
def test_an_arrow_up_among_arrows_down_is_found(arrow: Import) -> None:
    assert arrows_up([Import("broker_service.core.broker", "record.log"), arrow]) == [arrow]


def test_a_room_without_a_floor_is_an_error() -> None:
    with pytest.raises(KeyError, match="attic"):
        arrows_up([Import("broker_service.attic", "broker_service.messages")])


def test_only_the_program_of_a_package_imports_its_init() -> None:
    assert arrows_up([Import("command_line.__main__", "command_line")]) == []


def _circles(arrows: list[Import], depth: int) -> list[set[str]]:
    """Groups of modules, or of folders cut off at this depth, that import one another."""

    def folder(module: str) -> str:
        return ".".join(module.split(".")[:depth])

    graph = nx.DiGraph((folder(arrow.importer), folder(arrow.imported)) for arrow in arrows if not _re_export(arrow))
    return [circle for circle in nx.strongly_connected_components(graph) if len(circle) > 1]


def _re_export(arrow: Import) -> bool:
    """True for an import by a package's `__init__` of one of the package's own modules."""
    return arrow.imported.startswith(f"{arrow.importer}.")


@pytest.mark.parametrize("depth", [1, 2, 3, 4, 9])
def test_there_is_no_circle_of_folders_or_modules(depth: int) -> None:
    assert _circles(own_imports(), depth) == []


def test_a_circle_of_folders_is_found_where_modules_have_none() -> None:
    arrows = [Import("house.hall.door", "house.attic.beam"), Import("house.attic.roof", "house.hall.floor")]
    assert _circles(arrows, 3) == []
    assert _circles(arrows, 2) == [{"house.hall", "house.attic"}]


def test_no_package_outgrows_the_others() -> None:
    lines = dict.fromkeys(packages(), 0)
    for name, path in SOURCES.items():
        lines[name.partition(".")[0]] += len(path.read_text(encoding="utf-8").splitlines())
    largest = max(lines, key=lambda package: lines[package])
    assert lines[largest] / sum(lines.values()) <= LARGEST_SHARE, largest
