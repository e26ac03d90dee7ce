"""The `topology` section: the overlay and the properties of its links."""

from scenario.sections.topology.explicit import ExplicitTopology, FileTopology, LinkItem
from scenario.sections.topology.kind import TopologyKind
from scenario.sections.topology.kinds import KINDS, TopologySection
from scenario.sections.topology.links import LinkDirectionSection, LinkSection, WireSection
from scenario.sections.topology.meshes import LatencyMatrixTopology, PlanetLabTopology, TransitStubTopology
from scenario.sections.topology.papers import PAPERS, PaperEntry, PaperTopology
from scenario.sections.topology.unit_disk import UnitDiskTopology

__all__ = [
    "KINDS",
    "PAPERS",
    "ExplicitTopology",
    "FileTopology",
    "LatencyMatrixTopology",
    "LinkDirectionSection",
    "LinkItem",
    "LinkSection",
    "PaperEntry",
    "PaperTopology",
    "PlanetLabTopology",
    "TopologyKind",
    "TopologySection",
    "TransitStubTopology",
    "UnitDiskTopology",
    "WireSection",
]
