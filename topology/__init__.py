"""Broker overlays and mesh underlays: the models, generators, files, measures and drawings.

The generators of the papers' overlays (docs/topologies.md lists the overlays by name, in the papers' sizes):

- TID routing: `shapes.cyclic`, a random overlay of a mean degree; `planetlab` for its wide-area experiment
- OctopiA: `shapes.scot`, the Cartesian product; `scot` has its clusters and regions, `recognition` finds one in a graph
- MEDYM and content-based forwarding: `transit_stub` and `planetlab`, meshes; `mesh_overlays.minimum_spanning_tree`
- Gryphon: `shapes.redundant_tree`
- semi-probabilistic routing: `shapes.random_regular`
"""

from topology import mesh_overlays, shapes
from topology.files import load, save
from topology.layout import Position, layout
from topology.links import LinkTemplate, LinkTemplates, Range, build
from topology.mesh import Examination, Mesh, examine, mesh_of
from topology.mesh_files import Unit, load_mesh
from topology.metrics import Metrics, metrics
from topology.model import (
    AttributeValue,
    Broker,
    BrokerId,
    Delays,
    JitterDistribution,
    Link,
    LinkDirection,
    LinkProperties,
    LinkSource,
    MeshLinks,
    Overlay,
    OverlayError,
)
from topology.scot import Scot, scot_of

__all__ = [
    "AttributeValue",
    "Broker",
    "BrokerId",
    "Delays",
    "Examination",
    "JitterDistribution",
    "Link",
    "LinkDirection",
    "LinkProperties",
    "LinkSource",
    "LinkTemplate",
    "LinkTemplates",
    "Mesh",
    "MeshLinks",
    "Metrics",
    "Overlay",
    "OverlayError",
    "Position",
    "Range",
    "Scot",
    "Unit",
    "build",
    "examine",
    "layout",
    "load",
    "load_mesh",
    "mesh_of",
    "mesh_overlays",
    "metrics",
    "save",
    "scot_of",
    "shapes",
]
