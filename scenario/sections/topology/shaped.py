"""Kinds of topology that generate a shape and draw the properties of its links."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Literal

import networkx as nx
from pydantic import model_validator

from scenario.sections.section import BrokerCount, Count, Degree
from scenario.sections.topology.kind import TopologyKind, check_total
from topology import shapes
from topology.full_mesh import drawn_full_mesh
from topology.link_properties import BrokerId
from topology.links import LinkTemplates, build
from topology.model import LARGEST_MESH, MOST_LINKS, Broker, Overlay


class Shaped(TopologyKind):
    """The base of all kinds of generated overlays."""

    def graph(self, rng: random.Random) -> nx.Graph[BrokerId]:
        """The overlay's shape. Raises `OverlayError` for impossible sizes."""
        raise NotImplementedError

    def exceptions(self) -> Mapping[tuple[BrokerId, BrokerId], LinkTemplates]:
        """The links that differ from `link`."""
        return {}

    def build(self, name: str, seed: int) -> Overlay:
        graph = self.graph(random.Random(f"{seed}:topology"))
        return build(name, graph, self.link.templates(), seed, self.exceptions())


class CyclicTopology(Shaped):
    """A random connected overlay with cycles: every broker's degree is near the mean."""

    kind: Literal["cyclic"]
    brokers: BrokerCount
    """Number of brokers: B1, B2, ..."""
    degree: Degree = 4.0
    """Mean number of links of a broker."""

    @model_validator(mode="after")
    def _has_a_bounded_size(self) -> CyclicTopology:
        check_total(int(self.brokers * min(self.degree, self.brokers) / 2), MOST_LINKS, "links")
        return self

    def graph(self, rng: random.Random) -> nx.Graph[BrokerId]:
        return shapes.cyclic(self.brokers, self.degree, rng)


class RandomRegularTopology(Shaped):
    """A random connected overlay in which all brokers have the same number of links."""

    kind: Literal["random-regular"]
    brokers: BrokerCount
    """Number of brokers: B1, B2, ..."""
    degree: Count = 4
    """Number of links of each broker; this number or that of brokers must be even."""

    @model_validator(mode="after")
    def _has_a_bounded_size(self) -> RandomRegularTopology:
        check_total(self.brokers * self.degree // 2, MOST_LINKS, "links")
        return self

    def graph(self, rng: random.Random) -> nx.Graph[BrokerId]:
        return shapes.random_regular(self.brokers, self.degree, rng)


class LayeredTopology(Shaped):
    """A random connected overlay of a given length: brokers in layers, with a hub in the middle layer."""

    kind: Literal["layered"]
    brokers: BrokerCount
    """Number of brokers: B1, B2, ..., layer by layer."""
    layers: Count
    """Number of layers, at least 3: the brokers of the first and of the last are this number minus 1 links apart."""
    hub: Count
    """Number of neighbours of the hub: all other brokers of its layer and of the two layers beside it."""
    degree: Degree = 4.0
    """Mean number of links of a broker."""

    @model_validator(mode="after")
    def _has_a_bounded_size(self) -> LayeredTopology:
        check_total(int(self.brokers * min(self.degree, self.brokers) / 2), MOST_LINKS, "links")
        return self

    def graph(self, rng: random.Random) -> nx.Graph[BrokerId]:
        return shapes.layered(self.brokers, self.layers, self.degree, self.hub, rng)


class LineTopology(Shaped):
    """B1 - B2 - ... - Bn."""

    kind: Literal["line"]
    brokers: BrokerCount
    """Number of brokers."""

    def graph(self, rng: random.Random) -> nx.Graph[BrokerId]:
        return shapes.line(self.brokers)


class RingTopology(Shaped):
    """A line whose ends are linked."""

    kind: Literal["ring"]
    brokers: BrokerCount
    """Number of brokers, at least 3."""

    def graph(self, rng: random.Random) -> nx.Graph[BrokerId]:
        return shapes.ring(self.brokers)


class GridTopology(Shaped):
    """Brokers in rows and columns, each linked to its neighbours in both; numbered row by row."""

    kind: Literal["grid"]
    rows: Count
    """Number of rows."""
    columns: Count
    """Number of brokers in a row."""

    @model_validator(mode="after")
    def _has_a_bounded_size(self) -> GridTopology:
        check_total(self.rows * self.columns)
        return self

    def graph(self, rng: random.Random) -> nx.Graph[BrokerId]:
        return shapes.grid(self.rows, self.columns)


class StarTopology(Shaped):
    """B1 in the middle, linked to all others."""

    kind: Literal["star"]
    brokers: BrokerCount
    """Number of brokers, including the one in the middle."""

    def graph(self, rng: random.Random) -> nx.Graph[BrokerId]:
        return shapes.star(self.brokers)


class FullTopology(TopologyKind):
    """A link between every two brokers."""

    kind: Literal["full"]
    brokers: BrokerCount
    """Number of brokers."""

    @model_validator(mode="after")
    def _has_a_bounded_size(self) -> FullTopology:
        check_total(self.brokers, LARGEST_MESH, "brokers of a full mesh")
        return self

    def build(self, name: str, seed: int) -> Overlay:
        brokers = [Broker(f"B{number}") for number in range(1, self.brokers + 1)]
        return drawn_full_mesh(name, brokers, self.link.templates(), seed)


class TreeTopology(Shaped):
    """A balanced tree with root B1."""

    kind: Literal["tree"]
    brokers: BrokerCount
    """Number of brokers."""
    branching: Count = 2
    """Number of children of each broker."""

    def graph(self, rng: random.Random) -> nx.Graph[BrokerId]:
        return shapes.tree(self.brokers, self.branching)


class RandomTreeTopology(Shaped):
    """A tree drawn at random from all trees of this size."""

    kind: Literal["random-tree"]
    brokers: BrokerCount
    """Number of brokers."""

    def graph(self, rng: random.Random) -> nx.Graph[BrokerId]:
        return shapes.random_tree(self.brokers, rng)
