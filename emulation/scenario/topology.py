"""The `topology` section: which overlay, and what its links are like."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Annotated, Any, Literal

import networkx as nx
from pydantic import Field, model_validator

from emulation.scenario.section import BrokerCount, BrokerName, Count, FilePath, Section
from emulation.scenario.units import BitRateRange, DurationRange, Jitter, JitterRange, ShareRange
from topology import (
    BrokerId,
    JitterDistribution,
    LinkTemplate,
    LinkTemplates,
    Overlay,
    OverlayError,
    Range,
    build,
    load,
    shapes,
)


class LinkDirection(Section):
    """One direction of a link. Every range is drawn from once a link, by the seed."""

    delay: DurationRange = Range(0.0, 0.0)
    """One-way delay: a duration, or a range such as `2ms..10ms`."""
    jitter: JitterRange = Jitter()
    """Standard deviation of the delay (half-width, if uniform): a duration, a range, or a percentage of the delay."""
    distribution: Literal["normal", "uniform", "pareto"] = "normal"
    """How the delay of single frames varies around the link's delay."""
    loss: ShareRange = Range(0.0, 0.0)
    """Share of frames lost: `1%` or `0.01`, or a range."""
    bandwidth: BitRateRange | None = None
    """Bit rate, or a range; without it the link is as fast as the host."""
    queue_limit: Count = 1000
    """Frames that may wait for the bandwidth; what comes on top is dropped."""

    def template(self) -> LinkTemplate:
        return LinkTemplate(
            delay=self.delay,
            jitter=self.jitter.seconds,
            jitter_share=self.jitter.share,
            distribution=JitterDistribution(self.distribution),
            loss=self.loss,
            rate=self.bandwidth,
            queue_limit=self.queue_limit,
        )


class LinkSection(LinkDirection):
    """The properties of links, the same in both directions unless `backward` differs."""

    backward: LinkDirection | None = None
    """The direction from the second broker to the first, where it differs."""

    def templates(self) -> LinkTemplates:
        return LinkTemplates(self.template(), None if self.backward is None else self.backward.template())


class Shaped(Section):
    """What every kind of generated overlay has."""

    link: LinkSection = LinkSection()
    """Properties of every link."""

    def graph(self, rng: random.Random) -> nx.Graph[BrokerId]:
        """The overlay's shape. Raises `OverlayError` for impossible sizes."""
        raise NotImplementedError


class CyclicTopology(Shaped):
    """A random connected overlay with cycles: every broker's degree is near the mean."""

    kind: Literal["cyclic"]
    brokers: BrokerCount
    """How many brokers: B1, B2, ..."""
    degree: Annotated[float, Field(gt=0)] = 4.0
    """Mean number of links of a broker."""

    def graph(self, rng: random.Random) -> nx.Graph[BrokerId]:
        return shapes.cyclic(self.brokers, self.degree, rng)


class LineTopology(Shaped):
    """B1 - B2 - ... - Bn."""

    kind: Literal["line"]
    brokers: BrokerCount
    """How many brokers."""

    def graph(self, rng: random.Random) -> nx.Graph[BrokerId]:
        return shapes.line(self.brokers)


class RingTopology(Shaped):
    """A line whose ends are linked."""

    kind: Literal["ring"]
    brokers: BrokerCount
    """How many brokers, at least 3."""

    def graph(self, rng: random.Random) -> nx.Graph[BrokerId]:
        return shapes.ring(self.brokers)


class FullTopology(Shaped):
    """A link between every two brokers."""

    kind: Literal["full"]
    brokers: BrokerCount
    """How many brokers."""

    def graph(self, rng: random.Random) -> nx.Graph[BrokerId]:
        return shapes.full(self.brokers)


class TreeTopology(Shaped):
    """A balanced tree with root B1."""

    kind: Literal["tree"]
    brokers: BrokerCount
    """How many brokers."""
    branching: Count = 2
    """Children of each broker."""

    def graph(self, rng: random.Random) -> nx.Graph[BrokerId]:
        return shapes.tree(self.brokers, self.branching)


class RandomTreeTopology(Shaped):
    """A tree drawn at random from all trees of this size."""

    kind: Literal["random-tree"]
    brokers: BrokerCount
    """How many brokers."""

    def graph(self, rng: random.Random) -> nx.Graph[BrokerId]:
        return shapes.random_tree(self.brokers, rng)


class ScotTopology(Shaped):
    """A structured cyclic overlay topology (OctopiA): a tree times a full mesh."""

    kind: Literal["scot"]
    acyclic: Literal["line", "star", "tree", "random-tree"] | tuple[tuple[BrokerName, BrokerName], ...] = "random-tree"
    """The acyclic factor: its kind, or its links such as `[[A, B], [B, C]]`."""
    regions: Count | None = None
    """Nodes of the acyclic factor; needed unless its links are listed."""
    clusters: Count
    """Nodes of the complete factor: brokers in each region."""

    @model_validator(mode="after")
    def _needs_a_size(self) -> ScotTopology:
        if isinstance(self.acyclic, str) and self.regions is None:
            raise ValueError(f"an acyclic factor of kind {self.acyclic!r} needs `regions`, its number of nodes")
        if not isinstance(self.acyclic, str) and self.regions is not None:
            raise ValueError("leave `regions` out: the links of the acyclic factor say how many there are")
        return self

    def graph(self, rng: random.Random) -> nx.Graph[BrokerId]:
        return shapes.scot(self._acyclic_factor(rng), self.clusters)

    def _acyclic_factor(self, rng: random.Random) -> nx.Graph[BrokerId]:
        regions = self.regions or 1
        match self.acyclic:
            case "line":
                return shapes.lettered(shapes.line(regions))
            case "star":
                return shapes.lettered(shapes.star(regions))
            case "tree":
                return shapes.lettered(shapes.tree(regions))
            case "random-tree":
                return shapes.lettered(shapes.random_tree(regions, rng))
            case links:
                return shapes.explicit(links)


class LinkItem(LinkSection):
    """One link of an explicit overlay; written as `[B1, B2]` it has the properties of `topology.link`."""

    between: tuple[BrokerName, BrokerName]
    """The two brokers."""

    @model_validator(mode="before")
    @classmethod
    def _pair(cls, data: Any) -> Any:
        return {"between": data} if isinstance(data, list | tuple) else data

    def properties(self, default: LinkSection) -> LinkTemplates:
        """Fields that this link leaves out are those of `default`."""
        given = {name: getattr(self, name) for name in self.model_fields_set - {"between"}}
        return default.model_copy(update=given).templates()


class ExplicitTopology(Shaped):
    """An overlay link by link."""

    kind: Literal["explicit"]
    links: tuple[LinkItem, ...]
    """Pairs such as `[B1, B2]`, or `{between: [B1, B2], delay: 20ms}` for a link that differs from the others."""
    brokers: tuple[BrokerName, ...] = ()
    """Broker names; only needed for an overlay of one broker, or to set their order."""

    def graph(self, rng: random.Random) -> nx.Graph[BrokerId]:
        return shapes.explicit([item.between for item in self.links], self.brokers)

    def exceptions(self) -> dict[tuple[BrokerId, BrokerId], LinkTemplates]:
        """The links that differ from `link`."""
        return {item.between: item.properties(self.link) for item in self.links}


class FileTopology(Section):
    """An overlay from a file, with the properties that stand there."""

    kind: Literal["file"]
    path: FilePath
    """An overlay saved as JSON or GraphML (`.json`, `.graphml`); relative to the scenario's directory."""
    link: LinkSection = LinkSection()
    """Properties of links to which a GraphML file gives none."""


GeneratedTopology = (
    CyclicTopology
    | LineTopology
    | RingTopology
    | FullTopology
    | TreeTopology
    | RandomTreeTopology
    | ScotTopology
    | ExplicitTopology
)
TopologySection = Annotated[GeneratedTopology | FileTopology, Field(discriminator="kind")]


def overlay(topology: GeneratedTopology | FileTopology, name: str, seed: int) -> Overlay:
    """The overlay of a scenario: the same one for the same section and seed. Raises `OverlayError`."""
    templates = topology.link.templates()
    if isinstance(topology, FileTopology):
        try:
            return load(Path(topology.path), templates, seed)
        except OSError as error:
            raise OverlayError(f"{topology.path}: cannot be read: {error.strerror}") from error
    exceptions = topology.exceptions() if isinstance(topology, ExplicitTopology) else {}
    return build(name, topology.graph(random.Random(f"{seed}:topology")), templates, seed, exceptions)
