"""The kinds of topology that a scenario may have, and the papers' topologies."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import ClassVar, cast

import networkx as nx
import pytest

from broker_service.routing.declaration import Protocol
from broker_service.routing.registry import PROTOCOLS
from broker_service.routing.tid import TidOptions
from scenario.loading import load
from scenario.model import Scenario
from scenario.sections.topology import KINDS, PAPERS
from scenario.yaml_files.errors import ScenarioError
from topology import shapes
from topology.files import from_graphml, from_json, save, to_graphml, to_json
from topology.links import LinkTemplates, build
from topology.metrics import metrics
from topology.model import Overlay
from topology.structures.scot import scot_of
from topology.underlays.mesh_files import to_csv
from topology.underlays.planetlab import WideArea, planetlab

REST = """
routing: {protocol: tid}
workload: {publications: {source: stocks, publishers: 1, rate: 60/min}}
timeline: {join: 1s, run: 1s}
"""

KIND_EXAMPLES = {
    "cyclic": ("brokers: 12, degree: 3", 12, 18),
    "random-regular": ("brokers: 12, degree: 3", 12, 18),
    "layered": ("brokers: 12, layers: 5, hub: 6, degree: 3", 12, 18),
    "line": ("brokers: 4", 4, 3),
    "ring": ("brokers: 4", 4, 4),
    "grid": ("rows: 2, columns: 3", 6, 7),
    "star": ("brokers: 4", 4, 3),
    "full": ("brokers: 4", 4, 6),
    "tree": ("brokers: 7, branching: 3", 7, 6),
    "random-tree": ("brokers: 7", 7, 6),
    "scot": ("acyclic: [[a, b], [b, c]], clusters: 4", 12, 26),
    "redundant-tree": ("tree: [[pb, ib], [ib, sb1], [ib, sb2]], replicas: 3", 6, 12),
    "planetlab": ("brokers: 10", 10, 45),
    "transit-stub": ("brokers: 9, transit_domains: 2, overlay: mst", 9, 8),
    "latencies": ("path: matrix.csv, overlay: mst", 5, 4),
    "unit-disk": ("brokers: 6, area: 1m, range: 2m", 6, 15),
    "paper": ("name: gryphon-failure", 6, 12),
    "explicit": ("links: [[B1, B2], {between: [B2, B3], delay: 20ms}]", 3, 2),
    "file": ("path: overlay.graphml", 3, 3),
}
"""The fields of each kind, and how many brokers and links they make."""


def scenario(directory: Path, topology: str, seed: int = 1) -> Scenario:
    save(build("given", shapes.ring(3), LinkTemplates(), 1), directory / "overlay.graphml")
    (directory / "matrix.csv").write_text(to_csv(planetlab(5, WideArea(), 1)))
    path = directory / "scenario.yaml"
    path.write_text(f"name: s\nseed: {seed}\ntopology: {{{topology}}}{REST}")
    return load(path)


def test_every_kind_has_an_example() -> None:
    assert list(KIND_EXAMPLES) == list(KINDS)


@pytest.mark.parametrize("kind", KIND_EXAMPLES)
def test_every_kind_makes_its_overlay_the_same_each_time(tmp_path: Path, kind: str) -> None:
    fields, brokers, links = KIND_EXAMPLES[kind]
    made = scenario(tmp_path, f"kind: {kind}, {fields}")
    overlay = made.overlay()
    assert (len(overlay.brokers), len(overlay.links)) == (brokers, links)
    assert overlay == made.overlay()
    path = tmp_path / "resolved.yaml"
    path.write_text(json.dumps(made.resolved()))
    assert load(path).overlay() == overlay, "a resolved scenario means the same"


@pytest.mark.parametrize("kind", KIND_EXAMPLES)
def test_every_kind_survives_a_file(tmp_path: Path, kind: str) -> None:
    overlay = scenario(tmp_path, f"kind: {kind}, {KIND_EXAMPLES[kind][0]}").overlay()
    assert from_json(to_json(overlay)) == overlay
    assert from_graphml(to_graphml(overlay), "x", LinkTemplates(), 0) == overlay


@pytest.mark.parametrize("kind", ["cyclic", "random-regular", "layered", "random-tree", "planetlab", "transit-stub"])
def test_another_seed_is_another_overlay(tmp_path: Path, kind: str) -> None:
    one, other = (scenario(tmp_path, f"kind: {kind}, {KIND_EXAMPLES[kind][0]}", seed).overlay() for seed in (1, 2))
    assert one.links != other.links


@pytest.mark.parametrize("overlay", ["full", "mst", "nearest, nearest: 2", "cyclic, degree: 3"])
def test_overlays_on_an_underlay_have_its_delays(tmp_path: Path, overlay: str) -> None:
    made = scenario(tmp_path, f"kind: planetlab, overlay: {overlay}, link: {{jitter: 10%, bandwidth: 1mbit}}")
    mesh = made.topology.mesh(made.name, made.seed)
    links = made.overlay().links
    assert made.overlay().name == "s"
    assert len(links) == {"full": 1540, "mst": 55, "cyclic, degree: 3": 84}.get(overlay, len(links))
    for link in links:
        assert link.forward.delay == mesh.delay(link.a, link.b)
        assert link.backward.jitter == pytest.approx(0.1 * mesh.delay(link.b, link.a))
        assert link.forward.rate == 1e6


def test_the_mesh_of_a_kind_without_underlay_is_its_fastest_paths(tmp_path: Path) -> None:
    made = scenario(tmp_path, "kind: line, brokers: 3, link: {delay: 5ms}")
    assert made.topology.mesh("s", 1).delay("B1", "B3") == pytest.approx(0.010)


@pytest.mark.parametrize(
    ("topology", "message"),
    [
        ("kind: planetlab, link: {delay: 5ms}", "leave `link.delay` out"),
        ("kind: paper, name: medym-planetlab, link: {delay: 5ms}", "leave `link.delay` out"),
        ("kind: planetlab, link: {backward: {delay: 5ms}}", "leave `link.delay` out"),
        ("kind: planetlab, brokers: 57", "topology.brokers"),
        ("kind: planetlab, draw: 2", "leave `draw` out: it has no meaning with `data: model`"),
        ("kind: planetlab, data: measured, noise: 0.3", "leave `noise` out: it has no meaning with `data: measured`"),
        ("kind: planetlab, data: measured, draw: 4", "topology.draw"),
        ("kind: paper, name: octopia", "there is no paper's topology 'octopia'; did you mean 'octopia-"),
        ("kind: random-regular, brokers: 5, degree: 3", "one of the two numbers must be even"),
        (
            "kind: layered, brokers: 9, layers: 7, hub: 6",
            "9 brokers cannot be in 7 layers around a hub of 6 neighbours",
        ),
        ("kind: layered, brokers: 9, layers: 5, hub: 4, degree: 8", "cannot have a mean degree of 8"),
        ("kind: redundant-tree, tree: star", "a tree of kind 'star' needs `nodes`"),
        ("kind: redundant-tree, tree: [[a, b]], nodes: 2", "leave `nodes` out"),
        ("kind: latencies, path: none.csv", r"none.csv: cannot be read"),
        ("kind: transit-stub, brokers: 5, router_links: 3", "links, not 3"),
        ("kind: grid, rows: 0, columns: 2", "topology.rows"),
        ("kind: grid, rows: 101, columns: 100", "makes up to 10,100 brokers; 10,000 is the most"),
        ("kind: scot, acyclic: line, regions: 5001, clusters: 2", "makes up to 10,002 brokers"),
        ("kind: redundant-tree, tree: [[a, b], [b, c]], replicas: 10000", "makes up to 30,000 brokers"),
        ("kind: transit-stub, brokers: 5, stubs: 1000", "makes up to 800,100 routers; 100,000 is the most"),
    ],
)
def test_mistakes_name_the_file_and_the_field(tmp_path: Path, topology: str, message: str) -> None:
    with pytest.raises(ScenarioError, match=message) as raised:
        scenario(tmp_path, topology)
    assert "scenario.yaml:3: topology" in str(raised.value)


class ScotsOnly(TidOptions, frozen=True, kw_only=True, forbid_unknown_fields=True):
    attributes: ClassVar = ("region", "cluster")


def test_a_protocol_for_scots_runs_on_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scots_only = replace(PROTOCOLS["tid"], options=ScotsOnly)
    monkeypatch.setitem(cast(dict[str, Protocol], PROTOCOLS), "tid", scots_only)
    assert scenario(tmp_path, "kind: scot, acyclic: [[a, b]], clusters: 2").overlay().name == "s"
    with pytest.raises(
        ScenarioError, match="topology: tid routes on the brokers' attributes region and cluster"
    ) as error:
        scenario(tmp_path, "kind: ring, brokers: 4")
    assert str(error.value).endswith("which these lack; use a topology of kind scot")
    spoilt = shapes.scot(shapes.lettered(shapes.line(2)), 2)
    spoilt.add_edge("A0", "B1")
    save(build("given", spoilt, LinkTemplates(), 1), tmp_path / "spoilt.json")
    with pytest.raises(ScenarioError, match="tid cannot run on it: not a SCOT: link A0 - B1 joins"):
        scenario(tmp_path, "kind: file, path: spoilt.json")


def paper(name: str) -> Overlay:
    return PAPERS[name].topology.build(name, 1)


@pytest.mark.parametrize(
    ("name", "brokers", "links", "diameter"),
    [
        ("tid-30", 30, 60, None),
        ("tid-30-degree-2", 30, 30, 15),
        ("tid-30-full", 30, 435, 1),
        ("tid-500", 500, 2500, None),
        ("tid-figure-3", 5, 5, 3),
        ("tid-planetlab", 50, 100, None),
        ("octopia-figure-1", 6, 7, 3),
        ("octopia-figure-3", 18, 33, 6),
        ("octopia-figure-7", 12, 26, 3),
        ("octopia-s-e", 56, 136, 6),
        ("medym-planetlab", 56, 1540, 1),
        ("gryphon-figure-1", 8, 12, 4),
        ("gryphon-load", 5, 10, 1),
        ("gryphon-scalability", 9, 8, 2),
        ("gryphon-failure", 6, 12, 2),
        ("semi-probabilistic", 300, 750, None),
    ],
)
def test_the_papers_topologies(name: str, brokers: int, links: int, diameter: int | None) -> None:
    found = metrics(paper(name))
    assert (found.brokers, found.links) == (brokers, links)
    assert diameter in (None, found.diameter)


def test_every_paper_topology_says_where_it_is_from() -> None:
    for name, entry in PAPERS.items():
        assert any(word in entry.source for word in ("section", "figure")), name


def test_the_scots_of_the_octopia_paper_are_as_its_text_says() -> None:
    figure_3, figure_7, s_e = (scot_of(paper(f"octopia-{name}")) for name in ("figure-3", "figure-7", "s-e"))
    assert (len(figure_3.clusters), list(figure_3.regions)) == (3, list("abcdef"))
    assert "e1" in figure_3.inner_brokers
    assert "a2" in figure_3.edge_brokers
    assert "d1" in figure_3.primary_neighbours("e1")
    assert (len(figure_7.clusters), len(figure_7.regions), figure_7.cluster_diameter) == (4, 3, 2)
    assert set(figure_7.overlay.neighbours("b3")) - set(figure_7.primary_neighbours("b3")) == {"b0", "b1", "b2"}
    assert (len(s_e.inner_brokers), len(s_e.edge_brokers), len(s_e.clusters)) == (16, 40, 4)
    assert {s_e.coordinates[broker].region for broker in s_e.inner_brokers} == set("FGHI")
    assert set(s_e.regions) == set("ABCDEFGHIJKLMN")


def test_the_medym_set_up_is_the_cbf_tree_of_1000_servers() -> None:
    overlay = paper("medym")
    graph = overlay.to_networkx()
    assert len(overlay.brokers) == 1000
    assert nx.is_tree(graph)
    assert min(link.forward.delay for link in overlay.links) >= 0.002, "two LAN links at least"


def test_the_failure_experiment_of_gryphon_stands_two_crashes() -> None:
    graph = paper("gryphon-failure").to_networkx()
    graph.remove_nodes_from(["ib1", "ib2"])
    assert nx.has_path(graph, "pb", "sb1")
    assert nx.has_path(graph, "pb", "sb2")


DOCUMENT = Path("docs/topologies.md").read_text(encoding="utf-8")
DOCUMENTED = re.findall(r"```yaml\ntopology: \{(.*?)\}\n```", DOCUMENT)


def test_the_documentation_has_every_kind_and_every_paper_topology() -> None:
    headings = set(re.findall(r"^### (.*)$", DOCUMENT, re.MULTILINE))
    assert headings == set(KINDS)
    for name, entry in PAPERS.items():
        assert f"| `{name}` | {entry.source} | {entry.assumption or 'nothing'} |" in DOCUMENT


@pytest.mark.parametrize("topology", DOCUMENTED)
def test_documented_examples_make_overlays(tmp_path: Path, topology: str) -> None:
    assert len(scenario(tmp_path, topology).overlay().brokers) > 1


def test_documented_examples_are_found() -> None:
    kinds = {re.match(r"kind: ([\w-]+)", example)[1] for example in DOCUMENTED}  # type: ignore[index]
    assert kinds == set(KINDS) - {"file", "latencies"}
