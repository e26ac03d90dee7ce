"""Overlays in files: brokerlab's own JSON, which is lossless, and GraphML, for exchange with other tools.

JSON lists the links. A full mesh with very many has instead a field `mesh`: what its links are drawn from.
"""

from __future__ import annotations

import dataclasses
import io
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import ParseError
from xml.parsers import expat

import msgspec
import networkx as nx
import numpy as np

from record.files import open_file
from topology.bounded_files import read_bounded
from topology.full_mesh import DrawnLinks, drawn_full_mesh, full_mesh_on
from topology.link_properties import BrokerId, Link, LinkProperties, OverlayError
from topology.links import LinkTemplate, LinkTemplates
from topology.model import LARGEST_MESH, AttributeValue, Broker, Delays, MeshLinks, Overlay, check_size
from topology.underlays.mesh import Mesh

SCHEMA = 1
"""Version of the JSON format; a file of another version is refused."""
LARGEST_FILE = 160 << 20
"""Bytes: the largest full mesh with different delays in each direction."""
LISTED_LINKS = 20_000
"""Links of a full mesh that are listed in a file: those of 200 brokers."""
_DIRECTIONS = ("forward", "backward")
_LINK_FIELDS = frozenset(field.name for field in dataclasses.fields(Link))
_PROPERTIES = frozenset(field.name for field in dataclasses.fields(LinkProperties))
_AT_ONCE = [msgspec.to_builtins(plain.send_time) for plain in (LinkProperties(), LinkTemplate())]
_REFERENCES = {"node": ("id",), "edge": ("source", "target")}
"""Required attributes of GraphML's elements; without them NetworkX would create a broker called None."""


class _BrokerRecord(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    id: BrokerId
    attributes: dict[str, str | int | float | list[float]] = {}


class _MeshRecord(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    seed: int
    templates: LinkTemplates
    delays: list[list[float]] | None = None
    """Seconds from each broker to those after it; None where the delays are the templates'."""
    delays_back: list[list[float]] | None = None
    """Seconds to each broker from those after it, where they differ."""


class _OverlayRecord(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    schema: int
    name: str
    brokers: list[_BrokerRecord]
    links: list[Link] | None = None
    mesh: _MeshRecord | None = None
    may_be_partitioned: bool = False


class _LinksAsWritten(msgspec.Struct):
    schema: Any = None
    links: list[Any] = []
    """Links with their unknown fields, which `Link` ignores."""


def save(overlay: Overlay, path: Path) -> None:
    """Writes JSON, or GraphML when the file's name ends in `.graphml`."""
    path.write_bytes(to_graphml(overlay) if path.suffix == ".graphml" else to_json(overlay))


def load(path: Path, templates: LinkTemplates = LinkTemplates(), seed: int = 0) -> Overlay:  # noqa: B008 - immutable
    """Reads what `save` wrote, or GraphML from elsewhere: its links without properties get theirs from `templates`.

    Raises `OverlayError` (naming the file) or `OSError`.
    """
    with open_file(path) as file:
        content = read_bounded(file, path, LARGEST_FILE, "an overlay file")
    try:
        return from_graphml(content, path.stem, templates, seed) if path.suffix == ".graphml" else from_json(content)
    except OverlayError as error:
        raise OverlayError(f"{path}: {error}") from error


def to_json(overlay: Overlay) -> bytes:
    """One overlay as JSON, units as in `LinkProperties`; indented, unless it is a large mesh."""
    brokers = [_BrokerRecord(b.id, {k: _listed(v) for k, v in b.attributes.items()}) for b in overlay.brokers]
    links = overlay.links
    if isinstance(links, MeshLinks) and isinstance(links.source, DrawnLinks) and len(links) > LISTED_LINKS:
        record = _OverlayRecord(SCHEMA, overlay.name, brokers, mesh=_mesh_record(links.source))
        written = msgspec.to_builtins(record)
        _leave_out_no_sending(written["mesh"]["templates"])
        return msgspec.json.encode(written) + b"\n"
    record = _OverlayRecord(SCHEMA, overlay.name, brokers, list(links), may_be_partitioned=overlay.may_be_partitioned)
    written = msgspec.to_builtins(record)
    for link in written["links"]:
        _leave_out_no_sending(link)
    return msgspec.json.format(msgspec.json.encode(written), indent=1) + b"\n"


def from_json(content: bytes) -> Overlay:
    """The inverse of `to_json`. Raises `OverlayError`."""
    try:
        written = msgspec.json.decode(content, type=_LinksAsWritten)
        if written.schema != SCHEMA:
            schema = str(written.schema)[:40]
            raise OverlayError(f"overlay schema {schema} is not known; this version of brokerlab reads schema {SCHEMA}")
        record = msgspec.json.decode(content, type=_OverlayRecord)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise OverlayError(f"not an overlay file: {error}") from error
    except RecursionError:
        raise OverlayError("not an overlay file: nested too deeply") from None
    check_size(len(record.brokers), len(record.links or ()))
    brokers = tuple(Broker(b.id, {k: _tupled(v) for k, v in b.attributes.items()}) for b in record.brokers)
    if record.mesh is not None and record.links is None:
        return _overlay_of(record.name, brokers, record.mesh)
    if record.mesh is not None or record.links is None:
        raise OverlayError("an overlay file has either `links` or a `mesh`")
    for link in written.links:
        name = f"link {link['a']} - {link['b']}"
        _check_fields(name, link, _LINK_FIELDS)
        for direction in _DIRECTIONS:
            _check_fields(name, link.get(direction, ()), _PROPERTIES)
    return Overlay(record.name, brokers, tuple(record.links), record.may_be_partitioned)


def to_graphml(overlay: Overlay) -> bytes:
    """GraphML with link properties as edge data (`forward.delay`, `forward.send_time.mean`, ...).

    Tuples are written as JSON text.

    Raises `OverlayError` for a full mesh with too many links to list.
    """
    if isinstance(overlay.links, MeshLinks) and len(overlay.links) > LISTED_LINKS:
        raise OverlayError(
            f"GraphML lists every link, and this full mesh has {len(overlay.links):,}; "
            "write it as .json, or its delays as .csv"
        )
    graph: nx.DiGraph[BrokerId] = nx.DiGraph(name=overlay.name)
    for broker in overlay.brokers:
        graph.add_node(broker.id, **{name: _text_if_tuple(value) for name, value in broker.attributes.items()})
    for order, link in enumerate(overlay.links):
        data: dict[str, Any] = {"order": order}
        written = msgspec.to_builtins(link)
        _leave_out_no_sending(written)
        for direction in _DIRECTIONS:
            for name, value in written[direction].items():
                if isinstance(value, dict):
                    data |= {f"{direction}.{name}.{part}": number for part, number in value.items()}
                elif value is not None:
                    data[f"{direction}.{name}"] = value
        graph.add_edge(link.a, link.b, **data)
    buffer = io.BytesIO()
    nx.write_graphml(graph, buffer)
    return buffer.getvalue()


def from_graphml(content: bytes, name: str, templates: LinkTemplates, seed: int) -> Overlay:
    """Reads GraphML; `name` serves when the graph has none. Raises `OverlayError`."""
    try:
        _check_elements(content)
        graph = nx.read_graphml(io.BytesIO(content))
    except OverlayError:
        raise
    except (nx.NetworkXError, ParseError, expat.ExpatError, LookupError, ValueError) as error:
        raise OverlayError(f"not valid GraphML: {error}") from error
    check_size(graph.number_of_nodes(), graph.number_of_edges())
    brokers = tuple(Broker(node, {k: _tuple_if_text(v) for k, v in data.items()}) for node, data in graph.nodes.items())
    edges = sorted(graph.edges(data=True), key=lambda edge: _order(edge[2]))
    links = tuple(_graphml_link(a, b, data, templates, seed) for a, b, data in edges)
    return Overlay(str(graph.graph.get("name", name)), brokers, links)


def _mesh_record(source: DrawnLinks) -> _MeshRecord:
    if source.mesh is None:
        return _MeshRecord(source.seed, source.templates)
    delays = source.mesh.delays
    symmetric = np.array_equal(delays, delays.T)
    return _MeshRecord(source.seed, source.templates, _upper(delays), None if symmetric else _upper(delays.T))


def _upper(delays: Delays) -> list[list[float]]:
    return [row[number:].tolist() for number, row in enumerate(delays[:-1], start=1)]


def _overlay_of(name: str, brokers: tuple[Broker, ...], record: _MeshRecord) -> Overlay:
    """The full mesh of a record. Raises `OverlayError`."""
    if len(brokers) > LARGEST_MESH:
        raise OverlayError(f"a full mesh of {len(brokers):,} brokers; {LARGEST_MESH:,} is the most")
    if record.delays is None:
        return drawn_full_mesh(name, brokers, record.templates, record.seed)
    there = _matrix(record.delays, len(brokers))
    back = there if record.delays_back is None else _matrix(record.delays_back, len(brokers))
    return full_mesh_on(name, Mesh(name, brokers, there + back.T), record.templates, record.seed)


def _matrix(rows: list[list[float]], brokers: int) -> Delays:
    """A matrix with these rows above its diagonal, and zeros elsewhere. Raises `OverlayError`."""
    if [len(row) for row in rows] != list(range(brokers - 1, 0, -1)):
        raise OverlayError(f"the delays of a full mesh of {brokers} brokers are rows of {brokers - 1}, ..., 1 numbers")
    matrix = np.zeros((brokers, brokers))
    for number, row in enumerate(rows):
        matrix[number, number + 1 :] = row
    return matrix


def _check_elements(content: bytes) -> None:
    """Checks what NetworkX ignores. Raises `OverlayError`, and errors of expat for text that is not XML."""

    def begin(element: str, attributes: Mapping[str, str]) -> None:
        for reference in _REFERENCES.get(element.rpartition(":")[2], ()):
            if reference not in attributes:
                line = parser.CurrentLineNumber
                raise OverlayError(f"not valid GraphML: line {line}: {element} needs the attribute {reference!r}")

    def refuse(*_: object) -> None:
        raise OverlayError("GraphML with a document type or entities is refused; remove the declaration")

    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = refuse  # entities can grow to any size, and lead to other files
    parser.StartElementHandler = begin
    parser.Parse(content, True)


def _check_fields(link: str, names: Iterable[str], known: frozenset[str]) -> None:
    """Raises `OverlayError` for an unknown property, because a misspelt one would silently be missing."""
    for name in names:
        if name not in known:
            raise OverlayError(f"{link}: there is no property {name!r}; the properties are {', '.join(sorted(known))}")


def _order(data: Mapping[str, Any]) -> int:
    """The position of a link in the overlay it was saved from; links from elsewhere keep their order."""
    order = data.get("order")
    return order if isinstance(order, int) else 0


def _graphml_link(a: BrokerId, b: BrokerId, data: Mapping[str, Any], templates: LinkTemplates, seed: int) -> Link:
    drawn = templates.draw(a, b, f"{seed}:link")
    directions = []
    for direction, fallback in zip(_DIRECTIONS, (drawn.forward, drawn.backward), strict=True):
        given: dict[str, Any] = {}
        for field, value in data.items():
            side, _, name = field.partition(".")
            if side == direction:
                name, _, part = name.partition(".")
                parts = given.setdefault(name, {} if part else value)
                if isinstance(parts, dict) is not bool(part):
                    raise OverlayError(f"link {a} - {b}: {direction}.{name} is given both as a whole and in parts")
                if part:
                    parts[part] = value
        _check_fields(f"link {a} - {b}", given, _PROPERTIES)
        try:
            directions.append(msgspec.convert(given, LinkProperties) if given else fallback)
        except msgspec.ValidationError as error:
            raise OverlayError(f"link {a} - {b}: {error}") from error
    return Link(a, b, *directions)


def _leave_out_no_sending(written: dict[str, Any]) -> None:
    """Leaves out the send time in the directions in which it is none, because few overlays have one."""
    for direction in _DIRECTIONS:
        properties = written[direction]
        if properties is not None and properties["send_time"] in _AT_ONCE:
            del properties["send_time"]


def _listed(value: AttributeValue) -> str | int | float | list[float]:
    return list(value) if isinstance(value, tuple) else value


def _tupled(value: str | int | float | list[float]) -> AttributeValue:
    return tuple(value) if isinstance(value, list) else value


def _text_if_tuple(value: AttributeValue) -> str | int | float:
    return msgspec.json.encode(value).decode() if isinstance(value, tuple) else value


def _tuple_if_text(value: Any) -> AttributeValue:
    if isinstance(value, str) and value.startswith("["):
        try:
            return tuple(msgspec.json.decode(value, type=list[float]))
        except msgspec.DecodeError:
            return value
    return value if isinstance(value, int | float) else str(value)
