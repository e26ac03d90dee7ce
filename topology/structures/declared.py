"""Structures that overlays declare by their brokers' attributes: checks, and descriptions for people and for scripts.

Other packages look structures up by attributes or by overlay and name none of them; a further structure is an entry of
`STRUCTURES`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from topology.link_properties import OverlayError
from topology.model import Overlay
from topology.structures.redundant_tree import NODE, redundant_tree_of
from topology.structures.scot import Scot, scot_of

_LISTED = 12
"""Names in one line."""


@dataclass(frozen=True, slots=True)
class Description:
    """One overlay's structure."""

    lines: Mapping[str, str]
    """Text for people, by heading."""
    data: Mapping[str, object]
    """Plain data for scripts, with brokers and links by name."""


@dataclass(frozen=True, slots=True)
class Structure:
    """One kind of structure."""

    name: str
    """The kind of topology that makes it has the same name."""
    attributes: tuple[str, ...]
    """The attributes that every broker of it carries."""
    describe: Callable[[Overlay], Description]
    """Raises `OverlayError`, which names the property that the overlay lacks."""

    def declared_by(self, overlay: Overlay) -> bool:
        """True when every broker carries the attributes."""
        return all(set(self.attributes) <= broker.attributes.keys() for broker in overlay.brokers)

    def check(self, overlay: Overlay) -> None:
        """Raises `OverlayError` unless the overlay has this structure."""
        self.describe(overlay)


def structure_with(attributes: tuple[str, ...]) -> Structure | None:
    """The structure that is declared by exactly these attributes."""
    return next((structure for structure in STRUCTURES if structure.attributes == attributes), None)


def descriptions(overlay: Overlay) -> dict[str, Description]:
    """The structures that the overlay declares and has, by name."""
    found = {}
    for structure in STRUCTURES:
        if structure.declared_by(overlay):
            try:
                found[structure.name] = structure.describe(overlay)
            except OverlayError:
                continue
    return found


def listed(names: Iterable[str]) -> str:
    """The number of names and the first ones."""
    names = list(names)
    if not names:
        return "none"
    rest = f", and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return f"{len(names)}: {', '.join(names[:_LISTED])}{rest}"


def _describe_scot(overlay: Overlay) -> Description:
    scot = scot_of(overlay)
    return Description(
        lines={
            "clusters": f"{len(scot.clusters)} of {len(scot.regions)} brokers, diameter {scot.cluster_diameter}",
            "regions": listed(scot.regions),
            "aLinks": f"{len(scot.a_links)}, within clusters",
            "iLinks": f"{len(scot.i_links)}, between clusters",
            "inner brokers": f"{len(scot.inner_brokers)}, of regions {_regions_of(scot, scot.inner_brokers)}",
            "edge brokers": f"{len(scot.edge_brokers)}, of regions {_regions_of(scot, scot.edge_brokers)}",
        },
        data={
            "clusters": scot.clusters,
            "regions": scot.regions,
            "cluster_diameter": scot.cluster_diameter,
            "a_links": [(link.a, link.b) for link in scot.a_links],
            "i_links": [(link.a, link.b) for link in scot.i_links],
            "inner_brokers": scot.inner_brokers,
            "edge_brokers": scot.edge_brokers,
        },
    )


def _regions_of(scot: Scot, brokers: Iterable[str]) -> str:
    return listed(dict.fromkeys(scot.coordinates[broker].region for broker in brokers))


def _describe_redundant_tree(overlay: Overlay) -> Description:
    tree = redundant_tree_of(overlay)
    shared = [node for node, brokers in tree.members.items() if len(brokers) > 1]
    return Description(
        lines={
            "nodes": listed(tree.members),
            "of several brokers": listed(shared),
            "edge nodes": listed(tree.edge_nodes),
        },
        data={"nodes": tree.members, "edges": tree.edges, "edge_nodes": tree.edge_nodes},
    )


STRUCTURES: tuple[Structure, ...] = (
    Structure("scot", ("region", "cluster"), _describe_scot),
    Structure("redundant-tree", (NODE,), _describe_redundant_tree),
)
"""All structures."""
