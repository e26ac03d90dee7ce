"""Overlays come back from a file as they went in."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from record.service_time import Distribution, ServiceTime
from topology.files import from_graphml, from_json, load, save, to_graphml, to_json
from topology.link_properties import JitterDistribution, Link, LinkProperties, OverlayError
from topology.links import LinkTemplate, LinkTemplates, Range
from topology.model import Broker, Overlay

numbers = st.floats(0, 1e6) | st.integers(0, 1000)
CALLS = ServiceTime(mean=0.005, distribution=Distribution.EXPONENTIAL)
properties = st.builds(
    LinkProperties,
    delay=st.floats(0, 10),
    jitter=st.floats(0, 1),
    distribution=st.sampled_from(JitterDistribution),
    loss=st.floats(0, 1),
    rate=st.none() | st.floats(1, 1e10),
    queue_limit=st.integers(1, 10_000),
    send_time=st.builds(
        ServiceTime,
        mean=st.just(0.0) | st.floats(0.001, 1),
        distribution=st.sampled_from((Distribution.CONSTANT, Distribution.EXPONENTIAL)),
    ),
)
attribute = st.text("abcXYZ 0-9é<&\"'", max_size=8) | numbers | st.lists(st.floats(-1e6, 1e6), min_size=1).map(tuple)


@st.composite
def overlays(draw: st.DrawFn) -> Overlay:
    """Random trees with random properties."""
    count = draw(st.integers(1, 8))
    names = st.sampled_from(["region", "cluster", "position"])
    brokers = tuple(Broker(f"B{i}", draw(st.dictionaries(names, attribute, max_size=3))) for i in range(count))
    links = tuple(
        Link(f"B{draw(st.integers(0, i - 1))}", f"B{i}", draw(properties), draw(properties)) for i in range(1, count)
    )
    return Overlay(draw(st.text("abc-", min_size=1, max_size=10)), brokers, links)


@given(overlays())
def test_json_round_trip(overlay: Overlay) -> None:
    assert from_json(to_json(overlay)) == overlay


@given(overlays())
def test_graphml_round_trip(overlay: Overlay) -> None:
    assert from_graphml(to_graphml(overlay), "x", LinkTemplates(), 0) == overlay


def test_the_name_chooses_the_format(tmp_path: Path) -> None:
    overlay = Overlay("o", (Broker("A"), Broker("B")), (Link("A", "B", LinkProperties(delay=0.25)),))
    for name, begin in (("o.json", b"{"), ("o.graphml", b"<?xml")):
        save(overlay, tmp_path / name)
        assert (tmp_path / name).read_bytes().startswith(begin)
        assert load(tmp_path / name) == overlay


FOREIGN = b"""<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><graph edgedefault="undirected">
<node id="0"/><node id="1"/><node id="2"/>
<edge source="0" target="1"/><edge source="1" target="2"/></graph></graphml>"""


def test_graphml_from_elsewhere_gets_its_links_from_the_template() -> None:
    templates = LinkTemplates(LinkTemplate(delay=Range(0.001, 0.002)))
    overlay = from_graphml(FOREIGN, "zoo", templates, seed=1)
    assert overlay.name == "zoo"
    delays = [link.forward.delay for link in overlay.links]
    assert all(0.001 <= delay <= 0.002 for delay in delays)
    assert delays[0] != delays[1]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{}", "schema None is not known"),
        (b'{"schema": 99}', "schema 99 is not known"),
        (b"[1]", "not an overlay file"),
        (b"\xff", "not an overlay file"),
        (b'{"schema": 1, "name": "x", "brokers": [], "links": [], "colour": 1}', "colour"),
        (b'{"schema": 1, "name": "x", "brokers": [{"id": "A"}, {"id": "B"}], "links": []}', "disconnected"),
        (b'{"schema": 1, "name": "x", "brokers": [{"id": "A"}], "links": [{"a": "A"}]}', r"links\[0\]"),
        (b'{"schema": 1, "name": "x", "brokers": [{"id": "A"}, {"id": "B"}], '
         b'"links": [{"a": "A", "b": "B", "forward": {"delay": -1}}]}', "delay"),
        (b'{"schema": 1, "name": "x", "brokers": [{"id": "A"}, {"id": "B"}], '
         b'"links": [{"a": "A", "b": "B", "forward": {"delay": 1e300}}]}', "a day at most"),
        (b'{"schema": 1, "name": "x", "brokers": [{"id": "A"}, {"id": "B"}], '
         b'"links": [{"a": "A", "b": "B", "forward": {"delay": 1e400}}]}', "out of range"),
        (b'{"schema": 1, "name": "x", "brokers": [{"id": "A"}, {"id": "B"}], '
         b'"links": [{"a": "A", "b": "B", "forward": {"delya": 1}}]}', "link A - B: there is no property 'delya'"),
        (b'{"schema": 1, "name": "x", "brokers": [{"id": "A"}, {"id": "B"}], '
         b'"links": [{"a": "A", "b": "B", "froward": {"delay": 1}}]}', "there is no property 'froward'"),
        (b'{"schema": 1, "name": "x", "brokers": [{"id": "A"}], "links": [{"a": "A", "b": "A"}]}', "to itself"),
        (b'{"schema": 1, "name": "x", "brokers": [{"id": "A"}, {"id": "B"}], '
         b'"links": [{"a": "A", "b": "B"}, {"a": "B", "b": "A"}]}', "listed twice"),
        (b'{"schema": 1, "links": ' + b"[" * 100_000, "nested too deeply"),
    ],
)  # fmt: skip
def test_bad_json(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "bad.json"
    path.write_bytes(content)
    with pytest.raises(OverlayError, match=message) as raised:
        load(path)
    assert str(path) in str(raised.value)


def graphml(elements: str) -> bytes:
    keys = (
        '<key id="x" for="node" attr.name="x" attr.type="double"/>'
        '<key id="delay" for="edge" attr.name="forward.delay" attr.type="double"/>'
        '<key id="send_time" for="edge" attr.name="forward.send_time" attr.type="double"/>'
        '<key id="mean" for="edge" attr.name="forward.send_time.mean" attr.type="double"/>'
        '<key id="delya" for="edge" attr.name="forward.delya" attr.type="double"/>'
    )
    return f'<graphml xmlns="http://graphml.graphdrawing.org/xmlns">{keys}{elements}</graphml>'.encode()


def edge(data: str) -> bytes:
    nodes = '<node id="A"/><node id="B"/>'
    return graphml(f'<graph edgedefault="undirected">{nodes}<edge source="A" target="B">{data}</edge></graph>')


DOCTYPE = "<!DOCTYPE graphml [<!ENTITY a 'a'>]>"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not valid GraphML"),
        (b"<graphml", "not valid GraphML"),
        (b"<html/>", "not valid GraphML"),
        (b'<?xml version="1.0" encoding="nosuch"?><graphml/>', "unknown encoding"),
        (f"{DOCTYPE}<graphml/>".encode(), "document type"),
        (f'<?xml version="1.0" encoding="utf-16"?>{DOCTYPE}<graphml/>'.encode("utf-16"), "document type"),
        (graphml('<graph edgedefault="undirected"><node/></graph>'), "node needs the attribute 'id'"),
        (
            graphml('<graph edgedefault="undirected"><edge source="A"/></graph>'),
            "edge needs the attribute 'target'",
        ),
        (graphml('<graph edgedefault="undirected"><node id="A"><data key="x">nan</data></node></graph>'), "finite"),
        (edge('<data key="delay">inf</data>'), "link A - B|not inf"),
        (
            edge('<data key="send_time">1</data><data key="mean">1</data>'),
            "link A - B: forward.send_time is given both as a whole and in parts",
        ),
        (
            edge('<data key="mean">1</data><data key="send_time">1</data>'),
            "link A - B: forward.send_time is given both as a whole and in parts",
        ),
        (edge('<data key="delya">1</data>'), "there is no property 'delya'"),
    ],
)
def test_bad_graphml(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "bad.graphml"
    path.write_bytes(content)
    with pytest.raises(OverlayError, match=message):
        load(path)


@given(overlays(), st.data())
def test_damaged_files_are_read_or_refused(overlay: Overlay, data: st.DataObject) -> None:
    """A damaged file is an overlay or an `OverlayError`, and nothing else."""
    for written, read in (
        (to_json(overlay), from_json),
        (to_graphml(overlay), lambda content: from_graphml(content, "x", LinkTemplates(), 0)),
    ):
        begin, end = sorted((data.draw(st.integers(0, len(written))), data.draw(st.integers(0, len(written)))))
        put = data.draw(st.binary(max_size=8) | st.sampled_from([b"null", b"-1", b"1e999", b"[", b"{}", b'"', b"<"]))
        with contextlib.suppress(OverlayError):
            read(written[:begin] + put + written[min(end, begin + 12) :])


def test_sending_that_takes_no_time_is_not_written() -> None:
    plain, sent = LinkProperties(), LinkProperties(send_time=CALLS)
    overlay = Overlay("o", (Broker("A"), Broker("B")), (Link("A", "B", plain, sent),))
    assert to_json(overlay).count(b"send_time") == 1
    assert to_graphml(overlay).count(b'attr.name="backward.send_time.') == 3
    assert b"forward.send_" not in to_graphml(overlay)


def test_an_impossible_send_time_names_the_link() -> None:
    slow = LinkProperties(send_time=ServiceTime(mean=0.25))
    content = to_json(Overlay("o", (Broker("A"), Broker("B")), (Link("A", "B", slow),)))
    where = r"mean: a time is 0 or more seconds, not -1 - at `\$.links\[0\].forward.send_time`"
    with pytest.raises(OverlayError, match=where):
        from_json(content.replace(b"0.25", b"-1"))
