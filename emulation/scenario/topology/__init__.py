"""The `topology` section: the overlay and the properties of its links."""

from emulation.scenario.topology.explicit import ExplicitTopology, FileTopology, LinkItem
from emulation.scenario.topology.kind import TopologyKind
from emulation.scenario.topology.kinds import KINDS, TopologySection
from emulation.scenario.topology.links import LinkDirection, LinkSection
from emulation.scenario.topology.meshes import LatencyMatrixTopology, PlanetLabTopology, TransitStubTopology
from emulation.scenario.topology.papers import PAPERS, PaperEntry, PaperTopology

__all__ = [
    "KINDS",
    "PAPERS",
    "ExplicitTopology",
    "FileTopology",
    "LatencyMatrixTopology",
    "LinkDirection",
    "LinkItem",
    "LinkSection",
    "PaperEntry",
    "PaperTopology",
    "PlanetLabTopology",
    "TopologyKind",
    "TopologySection",
    "TransitStubTopology",
]
