"""Imports point one way, and every room has its floor."""

from __future__ import annotations

import networkx as nx
import pytest

from tests.architecture.imports import Import, imports, modules
from tests.architecture.order import LARGEST_SHARE, PACKAGES, ROOMS, arrows_up

NAMES = [package for floor in PACKAGES for package in sorted(floor)]
SOURCES = modules(NAMES)
IMPORTS = imports(SOURCES)


def _rooms(package: str) -> set[str]:
    return {name.split(".")[1] for name in SOURCES if name.startswith(f"{package}.")}


@pytest.mark.parametrize("package", NAMES)
def test_the_table_has_each_room_of_a_package_once(package: str) -> None:
    listed = [room for floor in ROOMS[package] for room in floor]
    assert sorted(listed) == sorted(_rooms(package))


def test_no_import_points_up() -> None:
    assert [f"{arrow.importer} -> {arrow.imported}" for arrow in arrows_up(IMPORTS)] == []


@pytest.mark.parametrize(
    "arrow",
    [
        Import("record.log", "broker_service.messages"),
        Import("topology.model", "broker_service.messages"),
        Import("broker_service.links.flow", "broker_service.routing.interface"),
        Import("analysis.engines.plain", "analysis.run_files.logs"),
    ],
)
def test_an_arrow_up_is_found(arrow: Import) -> None:
    assert arrows_up([Import("broker_service.broker", "record.log"), arrow]) == [arrow]


@pytest.mark.parametrize("depth", [2, 3, 9])
def test_there_is_no_circle_of_folders_or_modules(depth: int) -> None:
    def place(module: str) -> str:
        return ".".join(module.split(".")[:depth])

    graph = nx.DiGraph((place(arrow.importer), place(arrow.imported)) for arrow in IMPORTS if not _re_export(arrow))
    graph.remove_edges_from(list(nx.selfloop_edges(graph)))
    assert [circle for circle in nx.strongly_connected_components(graph) if len(circle) > 1] == []


def _re_export(arrow: Import) -> bool:
    """Whether a package's `__init__` hands on a name that one of the package's own modules defines."""
    return SOURCES[arrow.importer].name == "__init__.py" and arrow.imported.startswith(f"{arrow.importer}.")


def test_no_package_outgrows_the_others() -> None:
    lines = dict.fromkeys(NAMES, 0)
    for name, path in SOURCES.items():
        lines[name.split(".")[0]] += len(path.read_text(encoding="utf-8").splitlines())
    largest = max(lines, key=lambda package: lines[package])
    assert lines[largest] / sum(lines.values()) <= LARGEST_SHARE, largest
