"""What every kind of topology has and can do."""

from __future__ import annotations

from emulation.scenario.section import Section
from emulation.scenario.topology.links import LinkSection
from topology import Mesh, Overlay, mesh_of
from topology.model import MOST_BROKERS


def check_total(brokers: int, most: int = MOST_BROKERS, what: str = "brokers") -> None:
    """Raises `ValueError`: a scenario may come from a stranger, and sizes multiply quickly."""
    if brokers > most:
        raise ValueError(f"makes up to {brokers:,} {what}; {most:,} is the most")


class TopologyKind(Section):
    """A topology of some kind: everything random in it comes from the seed."""

    link: LinkSection = LinkSection()
    """Properties of every link."""

    def build(self, name: str, seed: int) -> Overlay:
        """The overlay: the same one for the same section and seed. Raises `OverlayError`."""
        raise NotImplementedError

    def mesh(self, name: str, seed: int) -> Mesh:
        """The delays between all brokers: of the underlay, where the kind has one; else along the overlay's links."""
        return mesh_of(self.build(name, seed))
