"""Full meshes, whose links are made on demand, against the same overlays with their links listed."""

from __future__ import annotations

import re
import tracemalloc
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from record.service_time import Distribution
from topology import files, shapes
from topology.drawings.drawing import to_svg
from topology.files import load, save
from topology.full_mesh import DrawnLinks, drawn_full_mesh, full_mesh_on
from topology.inspection import inspect_overlay
from topology.link_properties import JitterDistribution, OverlayError
from topology.links import LinkTemplate, LinkTemplates, Range, SendTimes, build
from topology.metrics import metrics
from topology.model import LARGEST_MESH, Broker, MeshLinks, Overlay
from topology.underlays.mesh import Mesh, mesh_of

RANGES = st.builds(lambda low, more: Range(low, low + more), st.floats(0, 0.5), st.floats(0, 0.5))
TEMPLATE = st.builds(
    LinkTemplate,
    delay=RANGES,
    jitter=RANGES,
    jitter_share=st.floats(0, 1),
    distribution=st.sampled_from(JitterDistribution),
    loss=RANGES,
    rate=st.none() | st.just(Range(1e3, 1e6)),
    send_time=st.builds(
        SendTimes,
        mean=st.just(Range(0.0, 0.0)) | st.just(Range(0.001, 0.002)),
        distribution=st.sampled_from((Distribution.CONSTANT, Distribution.EXPONENTIAL)),
    ),
)
TEMPLATES = st.builds(LinkTemplates, TEMPLATE, st.none() | TEMPLATE)
SIZES = st.integers(1, 9)
SEEDS = st.integers(0, 2**32)
PLAIN = LinkTemplates(LinkTemplate(delay=Range(0.001, 0.01)))


def brokers(count: int) -> list[Broker]:
    return [Broker(f"B{number}") for number in range(1, count + 1)]


def random_mesh(count: int, seed: int) -> Mesh:
    return Mesh("m", tuple(brokers(count)), np.random.default_rng(seed).uniform(0.001, 0.3, (count, count)))


def listed(overlay: Overlay) -> Overlay:
    return Overlay(overlay.name, overlay.brokers, tuple(overlay.links))


@given(size=SIZES, templates=TEMPLATES, seed=SEEDS)
def test_its_links_are_those_drawn_for_a_complete_graph(size: int, templates: LinkTemplates, seed: int) -> None:
    made = drawn_full_mesh("o", brokers(size), templates, seed)
    expected = build("o", shapes.full(size), templates, seed)
    assert list(made.links) == list(expected.links)
    assert made == expected and expected == made


@given(size=SIZES, templates=TEMPLATES, seed=SEEDS)
def test_its_pairs_are_the_ends_of_its_links_and_no_rate_is_out_of_range(
    size: int, templates: LinkTemplates, seed: int
) -> None:
    made = drawn_full_mesh("o", brokers(size), templates, seed)
    assert list(made.pairs) == list(listed(made).pairs) == [(link.a, link.b) for link in made.links]
    assert isinstance(made.links, MeshLinks)
    rates = made.links.rates()
    for link in made.links:
        if link.forward.rate is None:
            assert rates is None
        else:
            assert rates is not None and rates[0] <= link.forward.rate <= rates[1]


@given(size=SIZES, templates=TEMPLATES, seed=SEEDS)
def test_links_are_found_like_listed_ones(size: int, templates: LinkTemplates, seed: int) -> None:
    made = full_mesh_on("o", random_mesh(size, seed), templates, seed)
    same = listed(made)
    assert len(made.links) == len(same.links)
    assert made.is_full_mesh and same.is_full_mesh
    for broker in made.brokers:
        assert made.broker(broker.id) == broker
        assert made.neighbours(broker.id) == tuple(b.id for b in made.brokers if b != broker)
        assert sorted(made.neighbours(broker.id)) == sorted(same.neighbours(broker.id))
    for a, b in combinations([broker.id for broker in made.brokers], 2):
        assert made.link(a, b) == made.link(b, a) == same.link(a, b)
        assert made.link(a, b) in made.links
    for number, link in enumerate(same.links):
        assert made.links[number] == made.links[number - len(same.links)] == link
    assert made.links[1:5] == same.links[1:5]


@given(size=SIZES, seed=SEEDS)
def test_measures_are_those_of_the_listed_links(size: int, seed: int) -> None:
    made = full_mesh_on("o", random_mesh(size, seed), PLAIN, seed)
    assert metrics(made) == metrics(listed(made))
    assert np.array_equal(mesh_of(made).delays, mesh_of(listed(made)).delays)
    assert list(inspect_overlay(made)) == list(inspect_overlay(listed(made)))


@settings(max_examples=30)
@given(size=st.integers(3, 6), templates=TEMPLATES, seed=SEEDS, symmetric=st.booleans(), on_mesh=st.booleans())
def test_files_keep_what_links_are_drawn_from(
    size: int,
    templates: LinkTemplates,
    seed: int,
    symmetric: bool,
    on_mesh: bool,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    mesh = random_mesh(size, seed)
    if symmetric:
        mesh = Mesh("m", mesh.brokers, mesh.delays + mesh.delays.T)
    made = full_mesh_on("o", mesh, templates, seed) if on_mesh else drawn_full_mesh("o", mesh.brokers, templates, seed)
    path = tmp_path_factory.mktemp("mesh") / "o.json"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "LISTED_LINKS", 2)
        save(made, path)
    again = load(path)
    assert b'"links"' not in path.read_bytes()
    assert isinstance(again.links, MeshLinks)
    assert list(again.links) == list(made.links)
    assert again == made
    assert (b"delays_back" in path.read_bytes()) == (on_mesh and not symmetric)


def test_few_links_are_listed_in_files(tmp_path: Path) -> None:
    made = drawn_full_mesh("o", brokers(5), PLAIN, 1)
    for name in ("o.json", "o.graphml"):
        save(made, tmp_path / name)
        assert load(tmp_path / name) == made
        assert isinstance(load(tmp_path / name).links, tuple)


def test_graphml_does_not_list_very_many_links(tmp_path: Path) -> None:
    with pytest.raises(OverlayError, match=r"this full mesh has 20,100; write it as \.json"):
        save(drawn_full_mesh("o", brokers(201), PLAIN, 1), tmp_path / "o.graphml")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ((b'"delays":[[0.1,0.2],[0.3]]', b'"delays":[[0.1,0.2]]'), "rows of 2, ..., 1 numbers"),
        ((b'"delays":[[0.1,0.2],[0.3]]', b'"delays":[[0.1,0.2],[-0.3]]'), "zero or more seconds, not -0.3"),
        ((b'"delays":[[0.1,0.2],[0.3]]', b'"delays":[[0.1,0.2],[1e9]]'), "a day at most"),
        ((b'"mesh":', b'"links":[],"mesh":'), "either `links` or a `mesh`"),
        ((b'"mesh":', b'"maze":'), "unknown field"),
        ((b'"seed":3', b'"seed":3,"sead":4'), "unknown field"),
    ],
)
def test_wrong_meshes_in_files_are_refused(tmp_path: Path, change: tuple[bytes, bytes], message: str) -> None:
    delays = np.array([[0, 0.1, 0.2], [0.1, 0, 0.3], [0.2, 0.3, 0]])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "LISTED_LINKS", 2)
        save(full_mesh_on("o", Mesh("m", tuple(brokers(3)), delays), LinkTemplates(), 3), tmp_path / "o.json")
    content = (tmp_path / "o.json").read_bytes()
    assert content.count(change[0]) == 1
    (tmp_path / "o.json").write_bytes(content.replace(*change))
    with pytest.raises(OverlayError, match=f"o.json: .*{message}"):
        load(tmp_path / "o.json")


def test_links_that_could_not_be_are_refused_before_any_is_made() -> None:
    with pytest.raises(OverlayError, match="delay must be a day at most"):
        full_mesh_on("o", Mesh("m", tuple(brokers(2)), np.full((2, 2), 90_000.0)), LinkTemplates(), 1)
    with pytest.raises(OverlayError, match="loss must be a share"):
        drawn_full_mesh("o", brokers(3), LinkTemplates(LinkTemplate(loss=Range(0.5, 1.5))), 1)
    with pytest.raises(OverlayError, match="jitter must be zero or more"):
        drawn_full_mesh("o", brokers(3), LinkTemplates(LinkTemplate(), LinkTemplate(jitter=Range(-1, 1))), 1)


def test_unknown_ends_have_no_link() -> None:
    made = drawn_full_mesh("o", brokers(3), PLAIN, 1)
    for a, b in (("B1", "B1"), ("B1", "B9"), ("B9", "B1")):
        with pytest.raises(KeyError):
            made.link(a, b)
    with pytest.raises(KeyError):
        made.neighbours("B9")
    with pytest.raises(IndexError):
        made.links[3]
    assert build("o", shapes.line(9), PLAIN, 1).links[-1] not in made.links
    assert "B1" not in made.links


def test_meshes_with_other_links_differ() -> None:
    made = drawn_full_mesh("o", brokers(3), PLAIN, 1)
    assert made != drawn_full_mesh("o", brokers(3), PLAIN, 2)
    assert made != drawn_full_mesh("o", brokers(4), PLAIN, 1)
    fixed = LinkTemplates(LinkTemplate(delay=Range.fixed(0.002)))
    assert drawn_full_mesh("o", brokers(3), fixed, 1) == drawn_full_mesh("o", brokers(3), fixed, 2)


def test_the_links_are_those_of_the_overlays_brokers() -> None:
    links = MeshLinks(["B1", "B3"], DrawnLinks(PLAIN, 1))
    with pytest.raises(OverlayError, match="in their order"):
        Overlay("o", tuple(brokers(2)), links)


def test_a_mesh_has_a_largest_size_and_keeps_no_links() -> None:
    with pytest.raises(OverlayError, match=re.escape(f"{LARGEST_MESH + 1:,} brokers; {LARGEST_MESH:,} is the most")):
        drawn_full_mesh("o", brokers(LARGEST_MESH + 1), PLAIN, 1)
    tracemalloc.start()
    made = drawn_full_mesh("o", brokers(LARGEST_MESH), PLAIN, 1)
    assert len(made.links) == LARGEST_MESH * (LARGEST_MESH - 1) // 2
    for broker in made.brokers:
        made.link("B7" if broker.id != "B7" else "B8", broker.id)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4 << 20, "bytes"


def test_a_drawing_of_a_large_mesh_leaves_lines_out() -> None:
    few, many = (to_svg(drawn_full_mesh("o", brokers(count), PLAIN, 1)) for count in (5, 101))
    assert few.count("<path") == 10
    assert many.count("<path") == 0
    assert "every two brokers are linked" in many
    assert many.count("<circle") == 101
