"""Broker overlays: the model, generators, files, and coordinates to draw them at."""

from topology import shapes
from topology.files import load, save
from topology.layout import Position, layout
from topology.links import LinkTemplate, LinkTemplates, Range, build
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

__all__ = [
    "AttributeValue",
    "Broker",
    "BrokerId",
    "JitterDistribution",
    "Link",
    "LinkProperties",
    "LinkTemplate",
    "LinkTemplates",
    "Overlay",
    "OverlayError",
    "Position",
    "Range",
    "build",
    "layout",
    "load",
    "save",
    "shapes",
]
