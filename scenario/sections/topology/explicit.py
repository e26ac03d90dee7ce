"""Kinds of topology written out by the user: link by link, or in a file."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Annotated, Any, Literal

import networkx as nx
from pydantic import field_serializer, model_validator

from scenario.sections.section import PAIR, AlsoWritten, BrokerName, FilePath
from scenario.sections.topology.kind import TopologyKind
from scenario.sections.topology.links import LinkSection
from scenario.sections.topology.shaped import Shaped
from topology import shapes
from topology.files import load
from topology.link_properties import BrokerId, OverlayError
from topology.links import LinkTemplates
from topology.model import Overlay


class LinkItem(LinkSection):
    """One link of an explicit overlay; written as `[B1, B2]` it has the properties of `topology.link`."""

    between: tuple[BrokerName, BrokerName]
    """The two brokers."""

    @model_validator(mode="before")
    @classmethod
    def _pair(cls, data: Any) -> Any:
        return {"between": data} if isinstance(data, list | tuple) else data

    def properties(self, default: LinkSection) -> LinkTemplates:
        """The link's templates, with the fields of `default` where it sets none itself."""
        given = {name: getattr(self, name) for name in self.model_fields_set - {"between"}}
        return default.model_copy(update=given).templates()


class ExplicitTopology(Shaped):
    """An overlay link by link."""

    kind: Literal["explicit"]
    links: tuple[Annotated[LinkItem, AlsoWritten(PAIR)], ...]
    """Pairs such as `[B1, B2]`, or `{between: [B1, B2], delay: 20ms}` for a link that differs from the others."""
    brokers: tuple[BrokerName, ...] = ()
    """Broker names; only needed for an overlay of one broker, or to set their order."""

    @field_serializer("links")
    def _written_links(self, links: tuple[LinkItem, ...]) -> list[dict[str, Any]]:
        """The links with the fields that they set themselves, because the others are those of `link`, not defaults."""
        return [item.model_dump(mode="json", exclude_unset=True) for item in links]

    def graph(self, rng: random.Random) -> nx.Graph[BrokerId]:
        return shapes.explicit([item.between for item in self.links], self.brokers)

    def exceptions(self) -> dict[tuple[BrokerId, BrokerId], LinkTemplates]:
        return {item.between: item.properties(self.link) for item in self.links}


class FileTopology(TopologyKind):
    """An overlay from a file, with the properties that the file gives it."""

    kind: Literal["file"]
    path: FilePath
    """An overlay saved as JSON or GraphML (`.json`, `.graphml`); relative to the scenario's directory."""
    link: LinkSection = LinkSection()
    """Properties of links to which a GraphML file gives none."""

    def build(self, name: str, seed: int) -> Overlay:
        """The overlay of the file, with the name that it has there."""
        try:
            return load(Path(self.path), self.link.templates(), seed)
        except OSError as error:
            raise OverlayError(f"{self.path}: cannot be read: {error.strerror}") from error
