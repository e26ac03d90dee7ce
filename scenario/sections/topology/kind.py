"""The base of all kinds of topology."""

from __future__ import annotations

from scenario.sections.section import Section
from scenario.sections.topology.links import LinkSection
from topology.full_mesh import DrawnLinks
from topology.model import MOST_BROKERS, LinkSource, Overlay
from topology.underlays.mesh import Mesh, mesh_of
from topology.underlays.underlay import Underlay


def check_total(brokers: int, most: int = MOST_BROKERS, what: str = "brokers") -> None:
    """Raises `ValueError` for a product that is too large, because a scenario may come from a stranger."""
    if brokers > most:
        raise ValueError(f"makes up to {brokers:,} {what}; {most:,} is the most")


class TopologyKind(Section):
    """A topology of some kind, whose random choices all come from the seed."""

    link: LinkSection = LinkSection()
    """Properties of every link."""

    def build(self, name: str, seed: int) -> Overlay:
        """The overlay, which follows from the section and the seed alone. Raises `OverlayError`."""
        raise NotImplementedError

    def mesh(self, name: str, seed: int) -> Mesh:
        """The delays between all brokers: those of the underlay, if the kind has one, else those along the links."""
        return mesh_of(self.build(name, seed))

    def link_source(self, name: str, seed: int) -> LinkSource:
        """The properties of a link between any two brokers, where motion makes one. Raises `OverlayError`."""
        return DrawnLinks(self.link.templates(), seed)

    def underlay(self, seed: int) -> Underlay | None:
        """The routers' network under the overlay; None for a kind without one. Raises `OverlayError`."""
        return None
