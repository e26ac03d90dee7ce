"""Kinds of topology with an underlay: delays between any two brokers, and an overlay laid over them."""

from __future__ import annotations

import random
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Literal

import networkx as nx
from pydantic import Field, model_validator

from scenario.sections.section import Count, Degree, FilePath
from scenario.sections.topology import mesh_overlays
from scenario.sections.topology.kind import TopologyKind, check_total
from scenario.sections.topology.links import LinkDirectionSection, LinkSection
from scenario.sections.units import Duration, DurationRange, Share
from topology.full_mesh import DrawnLinks, full_mesh_on
from topology.link_properties import BrokerId, OverlayError
from topology.model import LARGEST_MESH, MOST_LINKS, LinkSource, Overlay
from topology.underlays.mesh import Mesh
from topology.underlays.mesh_files import Unit, load_mesh
from topology.underlays.planetlab import DRAWS, WideArea, measured, planetlab
from topology.underlays.transit_stub import LAN_DELAY, TransitStub, attach, routers, server_mesh
from topology.underlays.underlay import Underlay

_WIDE_AREA = WideArea()
_TRANSIT_STUB = TransitStub()
_MOST_ROUTERS = 100_000
_MOST_PATHS = 25_000_000
"""Paths from a server to a router: all are computed, in about ten seconds."""


def refuse_delay(link: LinkSection) -> None:
    """Raises `ValueError` when the link's section sets a delay."""
    directions = [link] if link.backward is None else [link, link.backward]
    if any(direction.delay != LinkDirectionSection().delay for direction in directions):
        raise ValueError("leave `link.delay` out: the delays of this topology are those of its underlay")


class MeshTopology(TopologyKind):
    """The base of all kinds with an underlay."""

    link: LinkSection = LinkSection()
    """Properties of every link, except the delay, which is the underlay's."""
    overlay: Literal["full", "mst", "nearest", "cyclic"] = "full"
    """Linked pairs: all, the minimum spanning tree of CBF, each broker's `nearest`, or random ones."""
    nearest: Count = 3
    """For `overlay: nearest`, the nearest brokers that each is linked to, besides the minimum spanning tree."""
    degree: Degree = 4.0
    """For `overlay: cyclic`, the mean number of links of a broker."""

    @model_validator(mode="after")
    def _has_delays(self) -> MeshTopology:
        refuse_delay(self.link)
        return self

    def build(self, name: str, seed: int) -> Overlay:
        mesh, templates = self.mesh(name, seed), self.link.templates()
        if self.overlay == "full":
            return full_mesh_on(name, mesh, templates, seed)
        return mesh_overlays.overlay_on(name, mesh, self._graph(mesh, self.overlay, seed), templates, seed)

    def link_source(self, name: str, seed: int) -> LinkSource:
        return DrawnLinks(self.link.templates(), seed, self.mesh(name, seed))

    def _graph(self, mesh: Mesh, shape: Literal["mst", "nearest", "cyclic"], seed: int) -> nx.Graph[BrokerId]:
        match shape:
            case "mst":
                return mesh_overlays.minimum_spanning_tree(mesh)
            case "nearest":
                return mesh_overlays.nearest_neighbours(mesh, self.nearest)
            case "cyclic":
                return mesh_overlays.random_links(mesh, self.degree, random.Random(f"{seed}:topology"))


class PlanetLabTopology(MeshTopology):
    """Brokers at 56 sites, 44 in the United States and 12 elsewhere, as MEDYM used on PlanetLab."""

    kind: Literal["planetlab"]
    data: Literal["model", "measured"] = "model"
    """Delays of a model of the wide area between known cities, or round trips measured between PlanetLab nodes."""
    draw: Annotated[int, Field(strict=True, ge=0, lt=DRAWS)] = 1
    """For `data: measured`, the number of the draw of 56 sites."""
    brokers: Annotated[int, Field(strict=True, ge=1, le=56)] = 56
    """Number of sites with a broker, drawn by the seed."""
    inflation: Annotated[float, Field(strict=True, ge=1, le=100)] = _WIDE_AREA.inflation
    """For `data: model`, the mean ratio of a path's length to the great circle's."""
    noise: Annotated[float, Field(strict=True, ge=0, le=2)] = _WIDE_AREA.noise
    """For `data: model`, the standard deviation of the logarithm of each pair's own factor."""
    access: Duration = _WIDE_AREA.access
    """For `data: model`, the one-way delay between a site and the network."""

    @model_validator(mode="after")
    def _has_fields_of_its_data(self) -> PlanetLabTopology:
        unused = ("draw",) if self.data == "model" else ("inflation", "noise", "access")
        for name in unused:
            if getattr(self, name) != type(self).model_fields[name].default:
                raise ValueError(f"leave `{name}` out: it has no meaning with `data: {self.data}`")
        return self

    def mesh(self, name: str, seed: int) -> Mesh:
        if self.data == "measured":
            return measured(self.brokers, self.draw, seed)
        return planetlab(self.brokers, WideArea(self.inflation, self.noise, self.access), seed)


class TransitStubTopology(MeshTopology):
    """Servers on a network of routers as GT-ITM generates it; the defaults are MEDYM's, where the paper gives them."""

    kind: Literal["transit-stub"]
    brokers: Annotated[int, Field(strict=True, ge=1, le=LARGEST_MESH)]
    """Number of servers: B1, B2, ..., at routers drawn at random, distinct ones while there are enough."""
    transit_domains: Count = _TRANSIT_STUB.transit_domains
    """Number of transit domains."""
    transit_routers: Count = _TRANSIT_STUB.transit_routers
    """Mean number of routers in a transit domain."""
    stubs: Count = _TRANSIT_STUB.stubs
    """Mean number of stub domains at a transit router."""
    stub_routers: Count = _TRANSIT_STUB.stub_routers
    """Mean number of routers in a stub domain."""
    domain_degree: Degree = _TRANSIT_STUB.domain_degree
    """Mean number of transit domains linked to each one; at most all others."""
    density: Share = _TRANSIT_STUB.density
    """Share of the pairs of routers of one domain that are linked, beside a spanning tree."""
    router_links: Count | None = None
    """Total number of links between routers; stub domains then make up the total, instead of `density`."""
    transit_delay: DurationRange = _TRANSIT_STUB.transit_delay
    """Delay of links between transit routers."""
    transit_stub_delay: DurationRange = _TRANSIT_STUB.transit_stub_delay
    """Delay of links between a transit router and a stub domain."""
    stub_delay: DurationRange = _TRANSIT_STUB.stub_delay
    """Delay of links in a stub domain."""
    lan_delay: Duration = LAN_DELAY
    """Delay between a server and its router."""

    @model_validator(mode="after")
    def _has_a_bounded_size(self) -> TransitStubTopology:
        transit = self.transit_domains * self.transit_routers
        total = transit * (1 + self.stubs * self.stub_routers)
        check_total(total, _MOST_ROUTERS, "routers")
        check_total(self.brokers * total, _MOST_PATHS, "paths from servers to routers")
        pairs = transit * self.transit_routers + transit * self.stubs * self.stub_routers**2
        check_total(pairs // 2, MOST_LINKS, "pairs of routers within domains")
        between = int(self.transit_domains * min(self.domain_degree, self.transit_domains) / 2)
        check_total(between, MOST_LINKS, "links between transit domains")
        check_total(self.router_links or 0, MOST_LINKS, "links between routers")
        return self

    def mesh(self, name: str, seed: int) -> Mesh:
        return _server_mesh(self, seed)

    def underlay(self, seed: int) -> Underlay:
        return _transit_stub(self, seed)

    def drawn(self, seed: int) -> Underlay:
        """The network of routers and servers, drawn anew."""
        parameters = TransitStub(
            transit_domains=self.transit_domains,
            transit_routers=self.transit_routers,
            stubs=self.stubs,
            stub_routers=self.stub_routers,
            domain_degree=self.domain_degree,
            density=self.density,
            links=self.router_links,
            transit_delay=self.transit_delay,
            transit_stub_delay=self.transit_stub_delay,
            stub_delay=self.stub_delay,
        )
        network = routers(parameters, random.Random(f"{seed}:routers"))
        return attach(network, self.brokers, self.lan_delay, random.Random(f"{seed}:servers"))


@lru_cache(maxsize=2)
def _transit_stub(section: TransitStubTopology, seed: int) -> Underlay:
    """The network of a section, kept because all variants of a scenario have the same."""
    return section.drawn(seed)


@lru_cache(maxsize=2)
def _server_mesh(section: TransitStubTopology, seed: int) -> Mesh:
    """The delays between its servers; 1,000 servers take five seconds."""
    return server_mesh(_transit_stub(section, seed))


class LatencyMatrixTopology(MeshTopology):
    """Brokers with the delays of a latency matrix in a CSV file."""

    kind: Literal["latencies"]
    path: FilePath
    """A square of numbers with the brokers' names in the first row and column, relative to the scenario's directory."""
    unit: Literal["delay_ms", "delay_s", "rtt_ms", "rtt_s"] | None = None
    """Meaning of the numbers, if the matrix lacks it in its corner: one-way delays or round-trip times."""

    def mesh(self, name: str, seed: int) -> Mesh:
        try:
            return load_mesh(Path(self.path), None if self.unit is None else Unit(self.unit))
        except OSError as error:
            raise OverlayError(f"{self.path}: cannot be read: {error.strerror}") from error
