"""Broker overlays and mesh underlays: the models, generators, files, measures and drawings."""

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
    JitterDistribution,
    Link,
    LinkProperties,
    Overlay,
    OverlayError,
)
from topology.scot import Scot, scot_of

__all__ = [
    "AttributeValue",
    "Broker",
    "BrokerId",
    "Examination",
    "JitterDistribution",
    "Link",
    "LinkProperties",
    "LinkTemplate",
    "LinkTemplates",
    "Mesh",
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
